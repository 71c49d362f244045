import { Readable } from 'node:stream'
import { GUEST_WINDOW_BYTES, GuestProtocolError } from '@offshoot/contract/guest-frame'

/** Small frames are put together in blocks of this size, so that a slow reader costs memory for bytes, not for frames. */
const BLOCK_BYTES = 4096

/**
 * stdout or stderr of a command. Reading grants credit to the guest, so a reader that stands still stops the command's
 * writes, and nothing else. At most {@link GUEST_WINDOW_BYTES} wait here. Once destroyed it grants for what it drops:
 * a reader that is gone must not keep the command from ending.
 */
export class CommandOutput extends Readable {
  readonly #grant: (bytes: number) => void
  #windowBytes = GUEST_WINDOW_BYTES
  #consumedBytes = 0
  #blocks: Block[] = []
  #isWanted = false
  #isComplete = false

  constructor(grant: (bytes: number) => void) {
    super({ highWaterMark: BLOCK_BYTES * 4 })
    this.#grant = grant
    // Told by the command's `exited`; a reader that listens hears of it too, one that does not must not end the process.
    this.on('error', () => {})
  }

  /** @throws GuestProtocolError when the guest sends more than it was granted. */
  receive(payload: Uint8Array): void {
    if (payload.length > this.#windowBytes) throw new GuestProtocolError('output beyond its window')
    this.#windowBytes -= payload.length
    if (this.destroyed || this.#isComplete) {
      this.#consume(payload.length)
    } else if (this.#isWanted) {
      this.#isWanted = this.push(Buffer.from(payload))
      this.#consume(payload.length)
    } else {
      this.#hold(payload)
    }
  }

  /** The command sends no more. */
  complete(): void {
    if (this.#isComplete) return
    this.#isComplete = true
    if (this.#blocks.length === 0 && !this.destroyed) this.push(null)
  }

  override _read(): void {
    this.#isWanted = true
    while (this.#isWanted) {
      const block = this.#blocks.shift()
      if (block === undefined) break
      this.#isWanted = this.push(block.bytes.subarray(0, block.used))
      this.#consume(block.used)
    }
    if (this.#isComplete && this.#blocks.length === 0) this.push(null)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const held = this.#blocks.reduce((sum, block) => sum + block.used, 0)
    this.#blocks = []
    this.#consume(held)
    done(error)
  }

  #hold(payload: Uint8Array): void {
    let last = this.#blocks.at(-1)
    if (last === undefined || last.bytes.length - last.used < payload.length) {
      last = { bytes: Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, payload.length)), used: 0 }
      this.#blocks.push(last)
    }
    last.bytes.set(payload, last.used)
    last.used += payload.length
  }

  #consume(bytes: number): void {
    this.#consumedBytes += bytes
    if (this.#consumedBytes < GUEST_WINDOW_BYTES / 2) return
    this.#windowBytes += this.#consumedBytes
    this.#grant(this.#consumedBytes)
    this.#consumedBytes = 0
  }
}

interface Block {
  readonly bytes: Buffer
  used: number
}
