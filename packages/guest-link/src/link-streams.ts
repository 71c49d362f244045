import { GuestProtocolError, type Frame } from '@offshoot/contract/guest-frame'
import type { LinkStream } from './link-stream.ts'
import { WideWindows } from './wide-windows.ts'

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
