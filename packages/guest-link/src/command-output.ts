import { Readable } from 'node:stream'
import { ReceiveWindow } from './receive-window.ts'

/** Small frames are put together in blocks of this size, so that a slow reader costs memory for bytes, not for frames. */
const BLOCK_BYTES = 4096

/**
 * stdout or stderr of a command. Reading grants credit to the guest, so a reader that stands still stops the command's
 * writes, and nothing else. At most one window of bytes wait here. Once destroyed it grants for what it drops:
 * a reader that is gone must not keep the command from ending.
 */
export class CommandOutput extends Readable {
  readonly #window: ReceiveWindow
  #blocks: Block[] = []
  #isWanted = false
  #isComplete = false

  constructor(grant: (bytes: number) => void) {
    super({ highWaterMark: BLOCK_BYTES * 4 })
    this.#window = new ReceiveWindow(grant)
    // Told by the command's `exited`; a reader that listens hears of it too, one that does not must not end the process.
    this.on('error', () => {})
  }

  /** @throws GuestProtocolError when the guest sends more than it was granted. */
  receive(payload: Uint8Array): void {
    this.#window.take(payload.length, 'output')
    if (this.destroyed || this.#isComplete) {
      this.#window.consume(payload.length)
    } else if (this.#isWanted) {
      this.#isWanted = this.push(Buffer.from(payload))
      this.#window.consume(payload.length)
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
      this.#window.consume(block.used)
    }
    if (this.#isComplete && this.#blocks.length === 0) this.push(null)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const held = this.#blocks.reduce((sum, block) => sum + block.used, 0)
    this.#blocks = []
    this.#window.consume(held)
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
}

interface Block {
  readonly bytes: Buffer
  used: number
}
