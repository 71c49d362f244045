import type { Readable, Writable } from 'node:stream'

/**
 * A TCP connection to a server in the guest. Each half ends separately, and each has backpressure. The caller must
 * read, resume or destroy `output`.
 */
export interface GuestConnection {
  /** The other end of a connection that a {@link GuestListener} accepted; `null` for every other connection. */
  readonly peer: { readonly address: string; readonly port: number } | null
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

/** A TCP server in the guest whose connections the host serves. At most 64 per guest. */
export interface GuestListener {
  /** The port, also when the kernel chose it. */
  readonly port: number
  /** Yields every connection that a client in the guest, or one that can reach the guest, opens. Ends with the listener. */
  readonly connections: AsyncIterable<GuestConnection>
  /** Closes the port. Accepted connections stay. Has no effect when it has ended. */
  close(): void
}
