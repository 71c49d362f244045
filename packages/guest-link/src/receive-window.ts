import { GUEST_WINDOW_BYTES, GUEST_WINDOW_MAX_BYTES, GuestProtocolError } from '@offshoot/contract/guest-frame'

/** More than the stream buffers hold: after so many consumed bytes, the stream has a reader. */
const WIDEN_AFTER_BYTES = 2 * GUEST_WINDOW_BYTES

/**
 * The flow control window of one stream from the guest. It grants credit for consumed bytes, half a window at a time.
 * When the stream has a reader, the window is widened, if the link has a wide one left. The guest can then continue to
 * write while the host is busy.
 */
export class ReceiveWindow {
  readonly #grant: (bytes: number) => void
  readonly #wide: WideWindows | undefined
  #windowBytes = GUEST_WINDOW_BYTES
  #leftBytes = GUEST_WINDOW_BYTES
  #consumedBytes = 0
  #grantedBytes = 0
  #isClosed = false

  /** @param wide without it the window is never widened */
  constructor(grant: (bytes: number) => void, wide?: WideWindows) {
    this.#grant = grant
    this.#wide = wide
  }

  /** @throws GuestProtocolError if the guest sends more than its credit; `what` names the stream */
  take(bytes: number, what: string): void {
    if (bytes > this.#leftBytes) throw new GuestProtocolError(`${what} beyond its window`)
    this.#leftBytes -= bytes
  }

  consume(bytes: number): void {
    this.#consumedBytes += bytes
    if (this.#consumedBytes < this.#windowBytes / 2) return
    this.#grantedBytes += this.#consumedBytes
    const granted = this.#consumedBytes + this.#widen()
    this.#leftBytes += granted
    this.#consumedBytes = 0
    this.#grant(granted)
  }

  /**
   * Returns a wide window to the link. Grants credit for bytes that still arrive, so that the guest can continue to
   * send.
   */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#windowBytes > GUEST_WINDOW_BYTES) this.#wide?.release()
  }

  #widen(): number {
    const isNarrow = this.#windowBytes === GUEST_WINDOW_BYTES
    if (this.#isClosed || !isNarrow || this.#grantedBytes < WIDEN_AFTER_BYTES) return 0
    if (this.#wide?.acquire() !== true) return 0
    this.#windowBytes = GUEST_WINDOW_MAX_BYTES
    return GUEST_WINDOW_MAX_BYTES - GUEST_WINDOW_BYTES
  }
}

/** Wide windows of one link at the same time. Together they hold 6 MiB more than narrow ones. */
const WIDE_MAX = 32

/** Limits the wide windows of a link, and with them the memory that unread streams take. */
export class WideWindows {
  #left = WIDE_MAX

  /** Returns false when the limit is reached. */
  acquire(): boolean {
    if (this.#left === 0) return false
    this.#left -= 1
    return true
  }

  release(): void {
    this.#left += 1
  }
}
