import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Deadline } from '@offshoot/kit/deadline'

/** Characters of an error that are kept. */
const MAX_ERROR_CHARS = 4096

/** Runs a program that takes its commands from its standard input. @throws Error with what it wrote when it fails */
export async function feedProgram(
  program: string,
  args: readonly string[],
  input: string,
  deadline: Deadline,
): Promise<void> {
  deadline.throwIfOver()
  const child = spawn(program, args, {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
    signal: deadline.signal,
    killSignal: 'SIGKILL',
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(0, MAX_ERROR_CHARS)))
  // One that ends before it has read everything says why itself.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [exitCode] = (await once(child, 'close')) as [number | null]
  if (exitCode !== 0) throw new Error(`${program} failed with ${exitCode}: ${errors.trim()}`)
}
