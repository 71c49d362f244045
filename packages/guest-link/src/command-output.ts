import { Readable } from 'node:stream'
import { FRAME_PAYLOAD_MAX_BYTES } from '@offshoot/contract/guest-frame'
import { ReceiveWindow, type WideWindows } from './receive-window.ts'

/**
 * Small frames are merged into blocks of this size: a slow reader then takes memory for bytes, not for Buffer objects.
 */
const BLOCK_BYTES = 4096
/** Full frames are merged too, because each chunk costs the consumer a fixed amount of time. */
const LARGE_BLOCK_BYTES = FRAME_PAYLOAD_MAX_BYTES * 4

/**
 * stdout or stderr of a command, or the bytes from a TCP server. Reading grants credit to the guest. So a reader that
 * stops blocks the writes of this command to this output, and nothing else. At most one window of bytes wait here.
 * After destroy() it drops bytes and still grants credit for them, because the command must be able to end.
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
    // The command's `exited` reports the error too. Without this listener an unread stream would end the process.
    this.on('error', () => {})
  }

  /** @throws GuestProtocolError if the guest sends more than its credit */
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
    // More frames are likely in the same bytes: merge them first.
    if (this.#isWanted) this.#flushSoon()
  }

  /** The guest sent END: no more bytes follow. */
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
    // Pushing null again has no effect.
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
