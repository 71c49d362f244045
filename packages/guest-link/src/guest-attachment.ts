import type { Readable, Writable } from 'node:stream'
import type { GuestExit } from './guest-process.ts'
import type { TerminalSize } from './terminal-size.ts'

/** A connection to a kept command: its output from an offset on, then live; its input; its end. */
export interface GuestAttachment {
  readonly pid: number
  /** Of the first byte that {@link output} gives; more than was asked for when older bytes are no longer kept. */
  readonly offset: number
  /** Of the byte that came next when this was attached: what is before it is replay. */
  readonly liveOffset: number
  /** Object mode: {@link LogChunk}. Must be read or destroyed; one that stands still is passed by, not waited for. */
  readonly output: Readable
  /** One stdin for all who are attached. `end()` closes it for all; on a terminal it does nothing. */
  readonly stdin: Writable
  /**
   * After all output: how the command ended, or undefined when this was detached before. Rejects with GuestLinkLost, or
   * GuestRequestError ENOENT when the command was forgotten.
   */
  readonly exited: Promise<GuestExit | undefined>
  kill(signal: number | NodeJS.Signals): void
  resize(size: TerminalSize): void
  /** The command goes on. Input that it has not taken by then is dropped. */
  detach(): void
}
