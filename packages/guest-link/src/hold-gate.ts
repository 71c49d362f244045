import { encodeFrame, encodeMessage, FrameType } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { GuestNotAsked, GuestRequestError } from './guest-link-error.ts'
import type { Opening } from './link-streams.ts'

/** What a gate needs of its link. */
export interface HoldLine {
  /** One question that leaves at once. */
  ask(opening: Opening, answerType: number): Promise<Uint8Array>
  onOpen(): void
}

/**
 * Holds a guest's processes, and whatever is asked of it meanwhile: it would refuse commands, and hears nothing else.
 *
 *     open ──hold──► shut ──refuse──► refusing
 *       └◄────────────┴──── let go ─────┘
 */
export class HoldGate {
  readonly #line: HoldLine
  #opened: PromiseWithResolvers<void> | undefined
  #holds = 0

  constructor(line: HoldLine) {
    this.#line = line
  }

  /** @throws GuestRequestError: nothing is held; DeadlineExceeded: it may be; GuestLinkLost */
  async hold(deadline: Deadline): Promise<void> {
    this.#opened ??= Promise.withResolvers()
    this.#holds++
    try {
      await deadline.race(this.#line.ask((id) => encodeFrame(FrameType.hold, id), FrameType.held))
    } catch (error) {
      if (error instanceof GuestRequestError) this.open()
      throw error
    }
  }

  /** Nobody knows when it will open: who waits, and who comes until then, is turned away. */
  refuse(): void {
    this.#opened ??= Promise.withResolvers()
    this.#opened.promise.catch(() => undefined)
    this.#opened.reject(new GuestNotAsked('the guest stands still'))
  }

  /** An answer that comes after the deadline opens it as well, unless the guest has been held again since. */
  async letGo(type: number, answerType: number, payload: Uint8Array, deadline: Deadline): Promise<void> {
    const opening = this.opening()
    const answered = this.#line.ask((id) => encodeMessage(type, id, payload), answerType).then(opening)
    answered.catch(() => undefined)
    await deadline.race(answered)
  }

  /** What to call when the guest has been let go. It does nothing where the guest has been held again meanwhile. */
  opening(): () => void {
    const holds = this.#holds
    return () => {
      if (holds === this.#holds) this.open()
    }
  }

  open(): void {
    this.#opened?.resolve()
    this.#opened = undefined
    this.#line.onOpen()
  }

  /** Acts while it is open: in the same turn, before anybody can shut it again. @throws DeadlineExceeded, GuestNotAsked */
  async pass<T>(act: () => T, deadline: Deadline | undefined): Promise<T> {
    while (this.#opened !== undefined) {
      const { promise } = this.#opened
      await (deadline === undefined ? promise : deadline.race(promise))
    }
    return act()
  }
}
