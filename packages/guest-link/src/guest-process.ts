import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from './terminal-size.ts'

/** How a command ended: with an exit code, or by a signal (a Linux signal number). The other one is `null`. */
export interface GuestExit {
  readonly exitCode: number | null
  readonly signal: number | null
}

/**
 * A running command. The caller must read both outputs (or `resume()` or destroy them): an unread output blocks the
 * command's writes, and `exited` resolves only after all output has arrived.
 */
export interface GuestProcess {
  /** Process id in the guest; also the id of its process group. */
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the main process has ended and its output has arrived. Rejects with GuestLinkLost. */
  readonly exited: Promise<GuestExit>
  /**
   * Signals the process group, and the foreground group of its terminal. Has no effect once the main process has ended.
   */
  kill(signal: number | NodeJS.Signals): void
  /** Resizes the terminal; the kernel sends SIGWINCH to its foreground. Has no effect without a terminal. */
  resize(size: TerminalSize): void
}
