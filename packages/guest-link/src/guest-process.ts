import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from './terminal-size.ts'

/** How a command ended: by itself, or by a signal (a Linux signal number). */
export interface GuestExit {
  readonly exitCode: number | null
  readonly signal: number | null
}

/**
 * A running command. Both outputs must be read (or `resume()`d, or destroyed): their bytes are delivered before the
 * end is told, and each stream holds back the command when it is not read.
 */
export interface GuestProcess {
  /** Process id inside the guest; also its process group. */
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves after the command's main process ended and its output arrived. Rejects with GuestLinkLost. */
  readonly exited: Promise<GuestExit>
  /** Signals the whole process group, and the one in the foreground of its terminal; nothing happens once the main process has ended. */
  kill(signal: number | NodeJS.Signals): void
  /** Of a command with a terminal; the foreground hears of it by SIGWINCH. Nothing happens on others. */
  resize(size: TerminalSize): void
}
