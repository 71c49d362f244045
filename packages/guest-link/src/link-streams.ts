import { type Frame, GuestProtocolError } from '@offshoot/contract/guest-frame'
import { WideWindows } from './receive-window.ts'

/** Whoever waits for the frames of one stream id. */
export interface LinkStream {
  /** @returns whether this was the last frame of the stream. */
  onFrame(frame: Frame): boolean
  onLinkLost(error: Error): void
}

/** The first frame of a new stream, for the id it was given. */
export type Opening = (id: number) => Uint8Array
export type MakeStream<T extends LinkStream> = (id: number, send: (frame: Uint8Array) => void, wide: WideWindows) => T

const STREAM_ID_MAX = 0xffff_ffff

/** The live streams of a link, each under an id of its own that is never used again. */
export class LinkStreams {
  readonly wide = new WideWindows()
  readonly #streams = new Map<number, LinkStream>()
  #lastId = 0

  takeId(): number {
    if (this.#lastId === STREAM_ID_MAX) throw new Error('a link has run out of stream ids')
    this.#lastId += 1
    return this.#lastId
  }

  set(id: number, stream: LinkStream): void {
    this.#streams.set(id, stream)
  }

  /** @throws GuestProtocolError: every stream of the guest ends with a frame of its own, so an id we do not know is one we never gave */
  deliver(frame: Frame): void {
    const stream = this.#streams.get(frame.stream)
    if (stream === undefined) throw new GuestProtocolError(`frame type ${frame.type} on unknown stream ${frame.stream}`)
    if (stream.onFrame(frame)) this.#streams.delete(frame.stream)
  }

  lose(error: Error): void {
    for (const stream of this.#streams.values()) stream.onLinkLost(error)
    this.#streams.clear()
  }
}
