/**
 * The host's end of the stream of one TCP connection in the guest.
 *
 *     connecting ──CONNECTED──► open ──CLOSED──► over
 *         └────────FAILED, CLOSED──────────────► over        (a lost link leads to `over` from anywhere)
 */
import {
  CreditTarget,
  encodeBytes,
  encodeFrame,
  FrameFlag,
  FrameType,
  GuestProtocolError,
  type Frame,
} from '@offshoot/contract/guest-frame'
import { CommandInput } from './command-input.ts'
import { CommandOutput } from './command-output.ts'
import { encodeCredit, readCredit, readErrorPayload } from './payloads.ts'
import { readPeer } from './tcp-address.ts'
import type { GuestConnection } from './guest-connection.ts'
import { GuestRequestError } from './guest-link-error.ts'
import type { LinkStream } from './link-streams.ts'
import type { WideWindows } from './receive-window.ts'

export class RemoteConnection implements GuestConnection, LinkStream {
  readonly input: CommandInput
  readonly output: CommandOutput
  readonly closed: Promise<void>
  /** Resolves on CONNECTED. Rejects with GuestRequestError or GuestLinkLost. */
  readonly connected: Promise<void>

  readonly #id: number
  readonly #send: (frame: Uint8Array) => void
  readonly #closed = Promise.withResolvers<void>()
  readonly #connected = Promise.withResolvers<void>()
  #state: 'connecting' | 'open' | 'over' = 'connecting'
  #peer: GuestConnection['peer'] = null

  constructor(id: number, send: (frame: Uint8Array) => void, wide: WideWindows) {
    this.#id = id
    this.#send = send
    this.closed = this.#closed.promise
    this.connected = this.#connected.promise
    // A caller may wait for one of the two only: no unhandled rejection of the other.
    this.closed.catch(() => {})
    this.connected.catch(() => {})
    this.input = new CommandInput((payload, isEnd) =>
      this.#sendLive(encodeBytes(FrameType.stdin, id, payload, isEnd ? FrameFlag.end : 0)),
    )
    this.output = new CommandOutput((bytes) => this.#sendLive(encodeCredit(id, CreditTarget.stdout, bytes)), wide)
  }

  get peer(): GuestConnection['peer'] {
    return this.#peer
  }

  abort(): void {
    this.#sendLive(encodeFrame(FrameType.detach, this.#id))
    this.input.destroy()
    this.output.destroy()
  }

  /** @returns true when this was the stream's last frame */
  onFrame(frame: Frame): boolean {
    switch (frame.type) {
      case FrameType.connected:
        if (this.#state !== 'connecting') throw new GuestProtocolError('bad CONNECTED')
        this.#peer = readPeer(frame.payload)
        this.#state = 'open'
        this.#connected.resolve()
        return false
      case FrameType.failed:
      case FrameType.error:
        if (this.#state !== 'connecting') throw new GuestProtocolError('FAILED after CONNECTED')
        this.#end(readFailure(frame.payload))
        return true
      case FrameType.closed:
        this.#end(readFailure(frame.payload))
        return true
      default:
        this.#onStream(frame)
        return false
    }
  }

  onLinkLost(error: Error): void {
    this.#end(error)
  }

  #onStream(frame: Frame): void {
    if (this.#state !== 'open') throw new GuestProtocolError(`frame type ${frame.type} before CONNECTED`)
    if (frame.type === FrameType.stdout) {
      if (frame.payload.length > 0) this.output.receive(frame.payload)
      if ((frame.flags & FrameFlag.end) !== 0) this.output.complete()
    } else if (frame.type === FrameType.credit) {
      this.input.grant(readCredit(frame.payload))
    } else if (frame.type === FrameType.stdinClosed) {
      this.input.closeByCommand()
    } else {
      throw new GuestProtocolError(`frame type ${frame.type} on a connection`)
    }
  }

  #end(error: Error | undefined): void {
    const wasConnecting = this.#state === 'connecting'
    this.#state = 'over'
    if (error === undefined && !wasConnecting) {
      this.input.destroy()
      this.output.complete()
      this.#closed.resolve()
      return
    }
    const reason = error ?? new GuestProtocolError('CLOSED before CONNECTED')
    this.#connected.reject(reason)
    this.#closed.reject(reason)
    this.input.destroy(reason)
    this.output.destroy(reason)
  }

  #sendLive(frame: Uint8Array): void {
    if (this.#state !== 'over') this.#send(frame)
  }
}

/** Returns undefined when both halves ended normally. */
function readFailure(payload: Uint8Array): Error | undefined {
  const { errno, text } = readErrorPayload(payload)
  return errno === 0 ? undefined : new GuestRequestError(errno, text)
}
