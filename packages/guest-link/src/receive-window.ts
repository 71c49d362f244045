import { GUEST_WINDOW_BYTES, GuestProtocolError } from '@offshoot/contract/guest-frame'

/** How many bytes the guest may still send on one stream; what has been read is granted anew, half a window at a time. */
export class ReceiveWindow {
  readonly #grant: (bytes: number) => void
  #leftBytes = GUEST_WINDOW_BYTES
  #consumedBytes = 0

  constructor(grant: (bytes: number) => void) {
    this.#grant = grant
  }

  /** @throws GuestProtocolError when the guest sends more than it was granted; `what` names the stream */
  take(bytes: number, what: string): void {
    if (bytes > this.#leftBytes) throw new GuestProtocolError(`${what} beyond its window`)
    this.#leftBytes -= bytes
  }

  consume(bytes: number): void {
    this.#consumedBytes += bytes
    if (this.#consumedBytes < GUEST_WINDOW_BYTES / 2) return
    this.#leftBytes += this.#consumedBytes
    this.#grant(this.#consumedBytes)
    this.#consumedBytes = 0
  }
}
