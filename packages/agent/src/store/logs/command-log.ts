import type { LogStream } from '@offshoot/contract/log'

/**
 * Where one command's output goes on its way to the caller: `sandbox.log.command()`.
 *
 * Neither call waits or throws: lines are made of it and written later, off the path of the command. The chunk is kept
 * until then and must not change. When a command writes faster than the log may take, the oldest part is left out.
 */
export interface CommandLog {
  /** @param end of a kept command, the offset after the chunk: where the log is taken up later */
  write(stream: LogStream, chunk: Uint8Array, end?: number): void
  /** No more output: what lacks a line ending becomes a line. */
  end(): void
}

/** How far the log has come with a kept command: offsets in its output, up to which each stream is in the log. */
export type LoggedOutput = Readonly<Record<LogStream, number>>
export const NOTHING_LOGGED: LoggedOutput = { stdout: 0, stderr: 0 }
