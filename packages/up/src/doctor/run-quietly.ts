import { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../base/run-command.ts'

const WITHIN_MS = 20_000

/** @returns the output of a command, or the error with which it failed */
export async function runQuietly(
  [file, ...args]: readonly [string, ...string[]],
  stop: AbortSignal,
  { env = {}, withinMs = WITHIN_MS }: { env?: Readonly<Record<string, string>>; withinMs?: number } = {},
): Promise<string | Error> {
  const deadline = Deadline.after(withinMs, file, stop)
  try {
    return await runCommand(file, args, { deadline, env })
  } catch (error) {
    stop.throwIfAborted()
    return error as Error
  }
}

/** The last line of a command's error, which usually names the cause. */
export function lastLine(error: Error): string {
  return error.message.trim().split('\n').at(-1)?.trim() ?? ''
}
