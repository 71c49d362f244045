import type { TerminalSize } from '@offshoot/sdk'

/*
 * One terminal session, followed over changing connections. The session lives in the sandbox: it goes on without a
 * connection, and sends its latest output again to each new one. So every connection begins with an empty screen.
 *
 * A browser cannot slow a WebSocket down. When a program writes faster than the screen can show it, the connection is
 * replaced: the output in between is skipped, and memory stays bounded.
 */

export type ConnectionState =
  | { readonly is: 'connecting' }
  | { readonly is: 'open' }
  /** The connection broke, or could not be made. The next attempt follows by itself. */
  | { readonly is: 'broken' }
  /** The program has ended. */
  | { readonly is: 'exited'; readonly code: number }
  /** The sandbox hibernated or was deleted. Another connection would wake it, so only the user makes one. */
  | { readonly is: 'stopped' }

/** Where output appears. */
export interface Screen {
  /** Empties the screen. */
  reset(): void
  /** Calls `done` when the output is on the screen. */
  write(output: Uint8Array, done: () => void): void
}

export interface SessionOptions {
  /** The address of a new connection. */
  readonly address: (size: TerminalSize) => Promise<string>
  readonly onState: (state: ConnectionState) => void
}

/** Bytes that wait for the screen. With more, output is skipped. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024
/** Bytes that the screen gets at once: it stays ready for input in between. */
const BATCH_BYTES = 256 * 1024
/** Characters that wait for a connection. */
const MAX_TYPED = 4096
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 5000
/** The service ended the connection. A connection that breaks, also by a restart, closes with another code. */
const NORMAL_CLOSE = 1000

export class SessionConnection {
  readonly #options: SessionOptions
  #size: TerminalSize
  #socket: WebSocket | null = null
  #screen: Screen | null = null
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #isWriting = false
  #mustReset = false
  #typed = ''
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isEnded = false
  #state: ConnectionState = { is: 'connecting' }

  constructor(size: TerminalSize, options: SessionOptions) {
    this.#size = size
    this.#options = options
    this.#connect()
  }

  /** Shows the output, also what has arrived before. */
  attach(screen: Screen): void {
    this.#screen = screen
    this.#flush()
  }

  type(text: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(new TextEncoder().encode(text))
    // What is typed while the service is away must not surprise anybody minutes later.
    else if (this.#state.is === 'connecting') this.#typed = (this.#typed + text).slice(0, MAX_TYPED)
  }

  resize({ rows, cols }: TerminalSize): void {
    if (rows === this.#size.rows && cols === this.#size.cols) return
    this.#size = { rows, cols }
    this.#sendSize()
  }

  /** Connects now, instead of after the delay, or again after the program's end. */
  again(): void {
    if (this.#isEnded || this.#state.is === 'open') return
    clearTimeout(this.#timer)
    this.#failures = 0
    this.#connect()
  }

  /** Leaves the session, which goes on. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
    this.#drop()
  }

  #become(state: ConnectionState): void {
    this.#state = state
    if (!this.#isEnded) this.#options.onState(state)
  }

  #connect(): void {
    this.#drop()
    if (this.#failures === 0) this.#become({ is: 'connecting' })
    void this.#openAsked(this.#size)
  }

  async #openAsked(asked: TerminalSize): Promise<void> {
    try {
      const address = await this.#options.address(asked)
      if (!this.#isEnded && this.#socket === null) this.#open(address, asked)
    } catch {
      this.#broke()
    }
  }

  #open(address: string, asked: TerminalSize): void {
    const socket = new WebSocket(address.replace(/^http/, 'ws'))
    socket.binaryType = 'arraybuffer'
    this.#socket = socket
    socket.addEventListener('open', () => {
      if (socket !== this.#socket) return
      this.#failures = 0
      this.#mustReset = true
      this.#become({ is: 'open' })
      if (asked !== this.#size) this.#sendSize()
      if (this.#typed !== '') socket.send(new TextEncoder().encode(this.#typed))
      this.#typed = ''
    })
    socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
      if (socket !== this.#socket) return
      if (typeof data === 'string') this.#control(data)
      else this.#take(new Uint8Array(data))
    })
    socket.addEventListener('close', ({ code }) => {
      if (socket !== this.#socket) return
      this.#socket = null
      if (this.#state.is === 'exited') return
      if (code === NORMAL_CLOSE) this.#become({ is: 'stopped' })
      else this.#broke()
    })
  }

  #control(frame: string): void {
    const { exit } = JSON.parse(frame) as { exit?: number }
    if (exit !== undefined) this.#become({ is: 'exited', code: exit })
  }

  #take(output: Uint8Array): void {
    this.#waiting.push(output)
    this.#waitingBytes += output.length
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#connect()
    else this.#flush()
  }

  #flush(): void {
    if (this.#screen === null || this.#isWriting || this.#waitingBytes === 0) return
    if (this.#mustReset) this.#screen.reset()
    this.#mustReset = false
    const batch = this.#nextBatch()
    this.#isWriting = true
    this.#screen.write(batch, () => {
      this.#isWriting = false
      if (!this.#isEnded) this.#flush()
    })
  }

  #nextBatch(): Uint8Array {
    let count = 0
    let length = 0
    for (const { length: more } of this.#waiting) {
      if (count > 0 && length + more > BATCH_BYTES) break
      length += more
      count += 1
    }
    const batch = new Uint8Array(length)
    let at = 0
    for (const part of this.#waiting.splice(0, count)) {
      batch.set(part, at)
      at += part.length
    }
    this.#waitingBytes -= length
    return batch
  }

  #sendSize(): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return
    const { rows, cols } = this.#size
    this.#socket.send(JSON.stringify({ resize: { rows, cols } }))
  }

  #broke(): void {
    if (this.#isEnded) return
    this.#drop()
    this.#become({ is: 'broken' })
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** this.#failures, MAX_DELAY_MS)
    this.#failures += 1
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#connect(), delayMs)
  }

  #drop(): void {
    const socket = this.#socket
    this.#socket = null
    socket?.close()
    this.#waiting = []
    this.#waitingBytes = 0
  }
}
