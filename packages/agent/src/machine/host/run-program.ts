import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Deadline } from '@offshoot/kit/deadline'

const exec = promisify(execFile)
/** Several times the longest output, which is the list of routes to the guests of a full host: about 150 bytes per route. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024

/**
 * Runs a program and returns its standard output. The arguments do not pass through a shell.
 * @param folder its working directory; by default the agent's
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  deadline: Deadline,
  folder?: string,
): Promise<string> {
  deadline.throwIfOver()
  const { stdout } = await exec(program, args, {
    signal: deadline.signal,
    killSignal: 'SIGKILL',
    ...(folder !== undefined && { cwd: folder }),
    maxBuffer: MAX_OUTPUT_BYTES,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' },
  })
  return stdout
}
