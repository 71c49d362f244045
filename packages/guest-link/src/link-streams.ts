import { type Frame, GuestProtocolError } from '@offshoot/contract/guest-frame'
import { WideWindows } from './receive-window.ts'

/** Receives the frames of one stream. */
export interface LinkStream {
  /** @returns true when this was the last frame of the stream */
  onFrame(frame: Frame): boolean
  onLinkLost(error: Error): void
}

/** Encodes the first frame of a new stream, which got this id. */
export type FirstFrame = (id: number) => Uint8Array
export type MakeStream<T extends LinkStream> = (id: number, send: (frame: Uint8Array) => void, wide: WideWindows) => T

const STREAM_ID_MAX = 0xffff_ffff

/** The live streams of a link. Each id is used once. */
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

  /**
   * @throws GuestProtocolError on an unknown stream: each stream ends with a last frame, so the host never opened that
   *   one
   */
  deliver(frame: Frame): void {
    const stream = this.#streams.get(frame.stream)
    if (stream === undefined) throw new GuestProtocolError(`frame type ${frame.type} on unknown stream ${frame.stream}`)
    if (stream.onFrame(frame)) this.#streams.delete(frame.stream)
  }

  failAll(error: Error): void {
    for (const stream of this.#streams.values()) stream.onLinkLost(error)
    this.#streams.clear()
  }
}
