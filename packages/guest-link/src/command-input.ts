import { Writable } from 'node:stream'
import {
  FRAME_PAYLOAD_MAX_BYTES,
  GUEST_WINDOW_BYTES,
  GUEST_WINDOW_MAX_BYTES,
  GuestProtocolError,
} from '@offshoot/contract/guest-frame'

/** Sends STDIN. It copies the payload before it returns. */
type Send = (payload: Uint8Array, isEnd: boolean) => void

/** The command closed its stdin, and bytes written since are lost. The code is EPIPE, as for a pipe. */
export class CommandClosedStdin extends Error {
  override readonly name = 'CommandClosedStdin'
  readonly code = 'EPIPE'
}

/**
 * stdin of a command, or the half of a connection that goes to the server. A write completes when the guest has granted
 * credit for all of it, so a command that does not read makes the writer wait. `end()` sends the end of file. When the
 * command closes its stdin, this stream is destroyed with EPIPE, as a pipe would be.
 */
export class CommandInput extends Writable {
  readonly #send: Send
  #windowBytes = GUEST_WINDOW_BYTES
  #waiting: { chunk: Uint8Array; done: (error?: Error | null) => void } | undefined

  constructor(send: Send) {
    super({ highWaterMark: FRAME_PAYLOAD_MAX_BYTES })
    this.#send = send
    // The command's `exited` reports the error too, so a caller need not listen here.
    this.on('error', () => {})
  }

  /** @throws GuestProtocolError if the guest grants more than the maximum window */
  grant(bytes: number): void {
    if (bytes > GUEST_WINDOW_MAX_BYTES - this.#windowBytes) throw new GuestProtocolError('credit beyond the window')
    this.#windowBytes += bytes
    this.#drain()
  }

  /** The command closed its stdin. */
  closeByCommand(): void {
    this.destroy(new CommandClosedStdin('write EPIPE: the command closed its stdin'))
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#waiting = { chunk, done }
    this.#drain()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#send(new Uint8Array(0), true)
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#waiting = undefined
    done(error)
  }

  #drain(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    const part = waiting.chunk.subarray(0, this.#windowBytes)
    if (part.length > 0) this.#send(part, false)
    this.#windowBytes -= part.length
    waiting.chunk = waiting.chunk.subarray(part.length)
    if (waiting.chunk.length > 0) return
    this.#waiting = undefined
    waiting.done()
  }
}
