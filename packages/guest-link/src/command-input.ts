import { Writable } from 'node:stream'
import {
  FRAME_PAYLOAD_MAX_BYTES,
  GUEST_WINDOW_BYTES,
  GUEST_WINDOW_MAX_BYTES,
  GuestProtocolError,
} from '@offshoot/contract/guest-frame'

/** Not kept: what is sent is copied at once. */
type Send = (payload: Uint8Array, isEnd: boolean) => void

/** The command closed its stdin; what was written since is lost. As a pipe says it. */
export class CommandClosedStdin extends Error {
  override readonly name = 'CommandClosedStdin'
  readonly code = 'EPIPE'
}

/**
 * stdin of a command. A write is done when the guest has room for all of it, so a command that does not read holds the
 * writer back. `end()` is the end of file. A command that closes its stdin destroys it with EPIPE, as a pipe does.
 */
export class CommandInput extends Writable {
  readonly #send: Send
  #windowBytes = GUEST_WINDOW_BYTES
  #waiting: { chunk: Uint8Array; done: (error?: Error | null) => void } | undefined

  constructor(send: Send) {
    super({ highWaterMark: FRAME_PAYLOAD_MAX_BYTES })
    this.#send = send
    // As for CommandOutput: nobody is forced to listen.
    this.on('error', () => {})
  }

  /** @throws GuestProtocolError when the guest grants more than the window. */
  grant(bytes: number): void {
    if (bytes > GUEST_WINDOW_MAX_BYTES - this.#windowBytes) throw new GuestProtocolError('credit beyond the window')
    this.#windowBytes += bytes
    this.#drain()
  }

  /** The command reads no more. */
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
