import { encodeFrame, encodeMessage, FrameType } from '@offshoot/contract/guest-frame'
import type { Deadline } from '@offshoot/kit/deadline'
import { GuestUnavailable, GuestRequestError } from './guest-link-error.ts'
import type { FirstFrame } from './link-streams.ts'

/** The part of the link that the gate uses. */
export interface HoldGateLink {
  /** Sends a request at once, also while the gate is shut. */
  ask(firstFrame: FirstFrame, answerType: number): Promise<Uint8Array>
  onOpen(): void
}

/**
 * Holds the processes of a guest, and delays requests meanwhile, because a held guest would refuse them.
 *
 *     open ──hold──► shut ──rejectRequests──► rejecting
 *       └◄───────────┴────────release─────────┘
 */
export class HoldGate {
  readonly #link: HoldGateLink
  #opened: PromiseWithResolvers<void> | undefined
  #holds = 0

  constructor(link: HoldGateLink) {
    this.#link = link
  }

  /** @throws GuestRequestError: the guest is not held; DeadlineExceeded: it may be held; GuestLinkLost */
  async hold(deadline: Deadline): Promise<void> {
    this.#opened ??= Promise.withResolvers()
    this.#holds++
    try {
      await deadline.race(this.#link.ask((id) => encodeFrame(FrameType.hold, id), FrameType.held))
    } catch (error) {
      if (error instanceof GuestRequestError) this.open()
      throw error
    }
  }

  /** Rejects waiting and new requests until the gate opens, because that may take long. */
  rejectRequests(): void {
    this.#opened ??= Promise.withResolvers()
    this.#opened.promise.catch(() => undefined)
    this.#opened.reject(new GuestUnavailable('the guest is paused: the request was not sent'))
  }

  /** An answer after the deadline opens the gate too, unless the guest was held again meanwhile. */
  async release(type: number, answerType: number, payload: Uint8Array, deadline: Deadline): Promise<void> {
    const open = this.opener()
    const answered = this.#link.ask((id) => encodeMessage(type, id, payload), answerType).then(open)
    answered.catch(() => undefined)
    await deadline.race(answered)
  }

  /** Returns a callback that opens the gate. It has no effect when the guest was held again meanwhile. */
  opener(): () => void {
    const holds = this.#holds
    return () => {
      if (holds === this.#holds) this.open()
    }
  }

  open(): void {
    this.#opened?.resolve()
    this.#opened = undefined
    this.#link.onOpen()
  }

  /** Waits until the gate is open, then calls `act` in the same turn. @throws DeadlineExceeded, GuestUnavailable */
  async runWhenOpen<T>(act: () => T, deadline: Deadline | undefined): Promise<T> {
    while (this.#opened !== undefined) {
      const { promise } = this.#opened
      await (deadline === undefined ? promise : deadline.race(promise))
    }
    return act()
  }
}
