import { encodeMessage, FrameType, GuestProtocolError, type Frame } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { readErrorPayload } from './payloads.ts'
import { GuestRequestError } from './guest-link-error.ts'
import { encodeRefresh, type GuestRefresh, type RefreshProgress } from './guest-refresh.ts'
import type { LinkStream, MakeStream, FirstFrame } from './link-streams.ts'

/** A REFRESH request. The guest answers REFRESHED and then SETTLED, or an error in place of either. */
export class LinkRefresh implements LinkStream, RefreshProgress {
  readonly begun: Promise<void>
  readonly settled: Promise<void>
  readonly #onBegun: () => void
  readonly #begun = Promise.withResolvers<void>()
  readonly #settled = Promise.withResolvers<void>()

  private constructor(deadline: Deadline, onBegun: () => void) {
    this.#onBegun = onBegun
    this.begun = deadline.race(this.#begun.promise)
    this.settled = deadline.race(this.#settled.promise)
    // A caller may wait for one of the two only.
    this.begun.catch(() => {})
    this.settled.catch(() => {})
  }

  /**
   * @param onBegun is called in the same turn of the event loop in which REFRESHED arrives
   * @param open sends REFRESH as the first frame of a new stream
   */
  static ask(
    refresh: GuestRefresh,
    deadline: Deadline,
    onBegun: () => void,
    open: (firstFrame: FirstFrame, make: MakeStream<LinkRefresh>) => void,
  ): RefreshProgress {
    const refreshing = new LinkRefresh(deadline, onBegun)
    try {
      const message = encodeRefresh(refresh)
      open(
        (id) => encodeMessage(FrameType.refresh, id, message),
        () => refreshing,
      )
    } catch (error) {
      refreshing.#fail(error)
    }
    return refreshing
  }

  onFrame(frame: Frame): boolean {
    if (frame.type === FrameType.refreshed) {
      this.#onBegun()
      this.#begun.resolve()
      return false
    }
    if (frame.type === FrameType.settled) {
      this.#settled.resolve()
    } else if (frame.type === FrameType.error) {
      const { errno, text } = readErrorPayload(frame.payload)
      this.#fail(new GuestRequestError(errno, text))
    } else {
      throw new GuestProtocolError(`frame type ${frame.type} does not answer a refresh`)
    }
    return true
  }

  onLinkLost(error: Error): void {
    this.#fail(error)
  }

  #fail(error: unknown): void {
    this.#begun.reject(error)
    this.#settled.reject(error)
  }
}
