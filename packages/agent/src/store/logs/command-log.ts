import type { LogStream } from '@offshoot/contract/log'

/**
 * Receives a copy of one command's output for the sandbox's log: `sandbox.log.command()`.
 *
 * Neither method waits or throws: the log splits and writes lines later, off the command's path. Until then it keeps a reference
 * to the chunk, which must not change. If a command writes faster than the log can, the log drops the oldest output.
 */
export interface CommandLog {
  /** @param end for a kept command: the offset after the chunk, at which a later agent resumes */
  write(stream: LogStream, chunk: Uint8Array, end?: number): void
  /** Ends the output: a last line without a line ending becomes a line. */
  end(): void
}

/** The offsets in a kept command's output up to which each stream is in the log. */
export type LoggedOutput = Readonly<Record<LogStream, number>>
export const NOTHING_LOGGED: LoggedOutput = { stdout: 0, stderr: 0 }
