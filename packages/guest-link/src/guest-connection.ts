import type { Readable, Writable } from 'node:stream'

/**
 * A TCP connection to a server in the guest. Each half ends separately, and each has backpressure. The caller must
 * read, resume or destroy `output`.
 */
export interface GuestConnection {
  /** To the server. `end()` shuts down this half. Destroyed with EPIPE when the server reads no more. */
  readonly input: Writable
  /** From the server. Destroyed with the error when the connection breaks. */
  readonly output: Readable
  /**
   * Resolves when both halves have ended. Rejects with GuestRequestError (ECONNRESET, ECONNABORTED, …) or
   * GuestLinkLost.
   */
  readonly closed: Promise<void>
  /** Resets the connection. Has no effect when it has ended. */
  abort(): void
}
