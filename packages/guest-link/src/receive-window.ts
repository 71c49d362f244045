import { GUEST_WINDOW_BYTES, GUEST_WINDOW_MAX_BYTES, GuestProtocolError } from '@offshoot/contract/guest-frame'

/** More than streams hold by themselves: whoever took this much reads. */
const WIDEN_AFTER_BYTES = 2 * GUEST_WINDOW_BYTES

/**
 * How many bytes the guest may still send on one stream; what has been read is granted anew, half a window at a time.
 * Once it is known that somebody reads, it is widened if it may be: a guest then writes on while its host is busy.
 */
export class ReceiveWindow {
  readonly #grant: (bytes: number) => void
  readonly #wide: WideWindows | undefined
  #windowBytes = GUEST_WINDOW_BYTES
  #leftBytes = GUEST_WINDOW_BYTES
  #consumedBytes = 0
  #grantedBytes = 0
  #isClosed = false

  /** @param wide without it, it stays narrow */
  constructor(grant: (bytes: number) => void, wide?: WideWindows) {
    this.#grant = grant
    this.#wide = wide
  }

  /** @throws GuestProtocolError when the guest sends more than it was granted; `what` names the stream */
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

  /** Nothing waits here any more; what comes is granted anew, so that it goes on coming. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#windowBytes > GUEST_WINDOW_BYTES) this.#wide?.give()
  }

  #widen(): number {
    const isNarrow = this.#windowBytes === GUEST_WINDOW_BYTES
    if (this.#isClosed || !isNarrow || this.#grantedBytes < WIDEN_AFTER_BYTES) return 0
    if (this.#wide?.take() !== true) return 0
    this.#windowBytes = GUEST_WINDOW_MAX_BYTES
    return GUEST_WINDOW_MAX_BYTES - GUEST_WINDOW_BYTES
  }
}

/** Windows of one link that may be wide at the same time: together they hold 6 MiB more than narrow ones would. */
const WIDE_MAX = 32

/** Which windows of a link are wide. The others do with what they started with: a bound on memory, whatever nobody reads. */
export class WideWindows {
  #left = WIDE_MAX

  /** False when there are as many as there may be. */
  take(): boolean {
    if (this.#left === 0) return false
    this.#left -= 1
    return true
  }

  give(): void {
    this.#left += 1
  }
}
