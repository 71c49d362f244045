import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Deadline } from '@offshoot/kit/deadline'

/** Maximum characters of an error. */
const MAX_ERROR_CHARS = 4096

/** Runs a program that reads commands from its standard input. @throws Error with its error output if it fails */
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
  // A program that ends before it has read everything reports the reason itself.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [exitCode] = (await once(child, 'close')) as [number | null]
  if (exitCode !== 0) throw new Error(`${program} failed with ${exitCode}: ${errors.trim()}`)
}
