const HEAD_BYTES = 5
const KEY_DATA = 'K'.charCodeAt(0)
const READY = 'Z'.charCodeAt(0)
/** Maximum bytes of one startup message. Error texts can be long. */
const MAX_MESSAGE_BYTES = 1024 * 1024

/** Parses the server's answers during a client's startup, to find the cancel key. It does not forward them. */
export class StartupAnswers {
  #pending: Buffer = Buffer.alloc(0)
  /** In hex; `null` until the server has sent it. */
  cancelKey: string | null = null
  /** The server is ready for queries, or its answer is malformed. Nothing more is parsed. */
  isOver = false

  read(chunk: Buffer): void {
    if (this.isOver) return
    this.#pending = Buffer.concat([this.#pending, chunk])
    while (this.#pending.length >= HEAD_BYTES) {
      const [type] = this.#pending
      const length = this.#pending.readInt32BE(1)
      if (length < 4 || length > MAX_MESSAGE_BYTES) return this.#end()
      if (this.#pending.length < 1 + length) return
      if (type === KEY_DATA) this.cancelKey = this.#pending.toString('hex', HEAD_BYTES, 1 + length)
      if (type === READY) return this.#end()
      this.#pending = this.#pending.subarray(1 + length)
    }
  }

  #end(): void {
    this.isOver = true
    this.#pending = Buffer.alloc(0)
  }
}
