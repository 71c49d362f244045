import { Readable } from 'node:stream'
import { FRAME_PAYLOAD_MAX_BYTES } from '@offshoot/contract/guest-frame'
import { ReceiveWindow, type WideWindows } from './receive-window.ts'

/** Small frames are put together in blocks of this size, so that a slow reader costs memory for bytes, not for frames. */
const BLOCK_BYTES = 4096
/** Full frames are put together too: whoever passes them on pays by the piece. */
const LARGE_BLOCK_BYTES = FRAME_PAYLOAD_MAX_BYTES * 4

/**
 * stdout or stderr of a command. Reading grants credit to the guest, so a reader that stands still stops the command's
 * writes, and nothing else. At most one window of bytes wait here. Once destroyed it grants for what it drops:
 * a reader that is gone must not keep the command from ending.
 */
export class CommandOutput extends Readable {
  readonly #window: ReceiveWindow
  #blocks: Block[] = []
  #isWanted = false
  #isFlushing = false
  #isComplete = false

  constructor(grant: (bytes: number) => void, wide: WideWindows) {
    super({ highWaterMark: BLOCK_BYTES * 4 })
    this.#window = new ReceiveWindow(grant, wide)
    // Told by the command's `exited`; a reader that listens hears of it too, one that does not must not end the process.
    this.on('error', () => {})
  }

  /** @throws GuestProtocolError when the guest sends more than it was granted. */
  receive(payload: Uint8Array): void {
    this.#window.take(payload.length, 'output')
    if (this.destroyed || this.#isComplete) {
      this.#window.consume(payload.length)
      return
    }
    if (this.#isWanted && this.#blocks.length === 0 && payload.length < FRAME_PAYLOAD_MAX_BYTES) {
      this.#isWanted = this.push(Buffer.from(payload))
      this.#window.consume(payload.length)
      return
    }
    this.#hold(payload)
    // A full frame is likely to be followed by others, in the bytes that came with it.
    if (this.#isWanted) this.#flushSoon()
  }

  /** The command sends no more. */
  complete(): void {
    if (this.#isComplete) return
    this.#isComplete = true
    this.#flush()
  }

  override _read(): void {
    this.#isWanted = true
    this.#flush()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const held = this.#blocks.reduce((sum, block) => sum + block.used, 0)
    this.#blocks = []
    this.#window.close()
    this.#window.consume(held)
    done(error)
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    process.nextTick(() => {
      this.#isFlushing = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.destroyed) return
    while (this.#isWanted) {
      const block = this.#blocks.shift()
      if (block === undefined) break
      this.#isWanted = this.push(block.bytes.subarray(0, block.used))
      this.#window.consume(block.used)
    }
    // Said again it does nothing.
    if (this.#isComplete && this.#blocks.length === 0) this.push(null)
  }

  #hold(payload: Uint8Array): void {
    let last = this.#blocks.at(-1)
    if (last === undefined || last.bytes.length - last.used < payload.length) {
      last = { bytes: Buffer.allocUnsafeSlow(blockBytesFor(payload)), used: 0 }
      this.#blocks.push(last)
    }
    last.bytes.set(payload, last.used)
    last.used += payload.length
  }
}

function blockBytesFor({ length }: Uint8Array): number {
  return length === FRAME_PAYLOAD_MAX_BYTES ? LARGE_BLOCK_BYTES : Math.max(BLOCK_BYTES, length)
}

interface Block {
  readonly bytes: Buffer
  used: number
}
