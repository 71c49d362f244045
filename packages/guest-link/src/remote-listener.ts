/**
 * The host's end of the stream of one TCP server in the guest.
 *
 *     starting ──LISTENING──► listening ──CLOSED──► over
 *        └───────FAILED────────────────────────────► over        (a lost link leads to `over` from anywhere)
 */
import { encodeFrame, type Frame, FrameType, GuestProtocolError } from '@offshoot/contract/guest-frame'
import type { GuestConnection, GuestListener } from './guest-connection.ts'
import { GuestRequestError } from './guest-link-error.ts'
import type { LinkStream } from './link-streams.ts'
import { readErrorPayload } from './payloads.ts'

/** Takes one waiting connection of the listener with this stream; `null` when none waits. */
type Accept = (listener: number) => Promise<GuestConnection | null>

export class RemoteListener implements GuestListener, LinkStream {
  /** Resolves on LISTENING. Rejects with GuestRequestError or GuestLinkLost. */
  readonly listening: Promise<void>
  readonly connections: AsyncIterable<GuestConnection>

  readonly #id: number
  readonly #send: (frame: Uint8Array) => void
  readonly #accept: Accept
  readonly #listening = Promise.withResolvers<void>()
  #incoming = Promise.withResolvers<void>()
  #state: 'starting' | 'listening' | 'over' = 'starting'
  #port = 0

  constructor(id: number, send: (frame: Uint8Array) => void, accept: Accept) {
    this.#id = id
    this.#send = send
    this.#accept = accept
    this.listening = this.#listening.promise
    this.listening.catch(() => {})
    this.connections = this.#connections()
  }

  get port(): number {
    return this.#port
  }

  close(): void {
    if (this.#state !== 'over') this.#send(encodeFrame(FrameType.detach, this.#id))
    this.#end(new Error('the listener was closed'))
  }

  /** @returns true when this was the stream's last frame */
  onFrame(frame: Frame): boolean {
    switch (frame.type) {
      case FrameType.listening:
        this.#onListening(frame.payload)
        return false
      case FrameType.incoming:
        this.#incoming.resolve()
        return false
      case FrameType.failed:
      case FrameType.error:
      case FrameType.closed: {
        const { errno, text } = readErrorPayload(frame.payload)
        this.#end(new GuestRequestError(errno, text))
        return true
      }
      default:
        throw new GuestProtocolError(`frame type ${frame.type} on a listener`)
    }
  }

  onLinkLost(error: Error): void {
    this.#end(error)
  }

  #onListening(payload: Uint8Array): void {
    // The host may have given up before the answer came.
    if (this.#state === 'over') return
    if (this.#state !== 'starting' || payload.length !== 2) throw new GuestProtocolError('bad LISTENING')
    this.#port = (payload[0] ?? 0) | ((payload[1] ?? 0) << 8)
    this.#state = 'listening'
    this.#listening.resolve()
  }

  async *#connections(): AsyncGenerator<GuestConnection> {
    for (;;) {
      await this.#incoming.promise
      if (this.#state === 'over') return
      // Renewed before the question, so that a connection that comes meanwhile is not missed.
      this.#incoming = Promise.withResolvers()
      for (let next = await this.#next(); next !== null; next = await this.#next()) yield next
    }
  }

  #next(): Promise<GuestConnection | null> | null {
    return this.#state === 'over' ? null : this.#accept(this.#id)
  }

  #end(error: Error): void {
    this.#state = 'over'
    this.#listening.reject(error)
    this.#incoming.resolve()
  }
}
