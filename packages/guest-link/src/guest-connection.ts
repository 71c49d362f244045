import type { Readable, Writable } from 'node:stream'

/**
 * A TCP connection to a server inside the guest. Each half ends by itself, and both hold back whoever is faster:
 * `output` is read, resumed or destroyed by whoever has it.
 */
export interface GuestConnection {
  /** To the server; `end()` closes our half. Destroyed with EPIPE when the server takes nothing more. */
  readonly input: Writable
  /** From the server. Destroyed with the reason when the connection breaks. */
  readonly output: Readable
  /** Resolves when both halves have ended. Rejects with GuestRequestError (ECONNRESET, ECONNABORTED, …) or GuestLinkLost. */
  readonly closed: Promise<void>
  /** Ends it at once: the server sees a reset. Nothing happens when it is over. */
  abort(): void
}
