import { Deadline } from '@offshoot/kit/deadline'
import { expect, it } from 'vitest'
import { CommandFailed, runCommand } from './run-command.ts'

async function failureOf(script: string): Promise<CommandFailed> {
  const options = { deadline: Deadline.after(60_000, 'test') }
  const failure: unknown = await runCommand('sh', ['-c', script], options).catch((error: unknown) => error)
  if (!(failure instanceof CommandFailed)) throw new Error('the command has not failed', { cause: failure })
  return failure
}

function lines(first: number, last: number): string {
  return Array.from({ length: last - first + 1 }, (_, index) => String(first + index)).join('\n')
}

it('reports the complete output of a failed command if it is short', async () => {
  expect((await failureOf('seq 12; exit 3')).message).toBe(`sh ended with exit code 3: ${lines(1, 12)}`)
})

it('reports the first line and the last lines of a long output', async () => {
  const { message } = await failureOf('echo cause; seq 100; exit 1')
  expect(message).toBe(`sh ended with exit code 1: cause\n…\n${lines(89, 100)}`)
})

it('reports all lines if only the first one does not belong to the last lines', async () => {
  expect((await failureOf('seq 13; exit 1')).message).toBe(`sh ended with exit code 1: ${lines(1, 13)}`)
})
