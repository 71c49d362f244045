import type { Readable, Writable } from 'node:stream'
import type { GuestExit } from './guest-process.ts'
import type { TerminalSize } from './terminal-size.ts'

/** Follows a kept command: its output from an offset on, then live, its input, and its end. */
export interface GuestAttachment {
  readonly pid: number
  /**
   * Offset of the first byte of {@link output}. Larger than the requested offset if the guest has dropped older bytes.
   */
  readonly offset: number
  /** End of the log when this attachment began: bytes below this offset are replay. */
  readonly liveOffset: number
  /**
   * Object mode: {@link LogChunk}. The caller must read or destroy it. A slow reader loses bytes; the command never
   * waits.
   */
  readonly output: Readable
  /** All attachments share one stdin. `end()` closes it for all. On a terminal `end()` has no effect. */
  readonly stdin: Writable
  /**
   * Resolves after all output: how the command ended, or undefined after {@link detach}. Rejects with GuestLinkLost, or
   * with GuestRequestError ENOENT when the command was forgotten.
   */
  readonly exited: Promise<GuestExit | undefined>
  kill(signal: number | NodeJS.Signals): void
  resize(size: TerminalSize): void
  /** Ends the attachment. The command continues. Input that it has not read is dropped. */
  detach(): void
}
