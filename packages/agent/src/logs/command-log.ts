import type { LogStream } from '@offshoot/contract/log'

/**
 * Where one command's output goes on its way to the caller: `sandbox.log.command()`.
 *
 * Neither call waits or throws: lines are made of it and written later, off the path of the command. The chunk is kept
 * until then and must not change. When a command writes faster than the log may take, the oldest part is left out.
 */
export interface CommandLog {
  write(stream: LogStream, chunk: Uint8Array): void
  /** No more output: what lacks a line ending becomes a line. */
  end(): void
}
