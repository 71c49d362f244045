import { FrameType, GuestProtocolError, type Frame } from '@offshoot/contract/guest-frame'
import { readErrorPayload } from './payloads.ts'
import { GuestRequestError } from './guest-link-error.ts'
import type { LinkStream } from './link-streams.ts'

/** A request with one answer. */
export class LinkRequest implements LinkStream {
  /** The answer's payload. Rejects with GuestRequestError, or GuestLinkLost. */
  readonly answered: Promise<Uint8Array>
  readonly #answerType: number
  readonly #answered = Promise.withResolvers<Uint8Array>()

  constructor(answerType: number) {
    this.#answerType = answerType
    this.answered = this.#answered.promise
    // The caller may have stopped waiting at its deadline: no unhandled rejection then.
    this.answered.catch(() => {})
  }

  onFrame(frame: Frame): boolean {
    if (frame.type === FrameType.error || frame.type === FrameType.failed) {
      const { errno, text } = readErrorPayload(frame.payload)
      this.#answered.reject(new GuestRequestError(errno, text))
    } else if (frame.type === this.#answerType) {
      this.#answered.resolve(Uint8Array.from(frame.payload))
    } else {
      throw new GuestProtocolError(`frame type ${frame.type} does not answer the request`)
    }
    return true
  }

  onLinkLost(error: Error): void {
    this.#answered.reject(error)
  }
}
