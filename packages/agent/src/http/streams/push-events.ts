import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

const HEARTBEAT_MS = 15_000

/** Server-sent events (WHATWG HTML, 9.2) from a push source that supports backpressure, such as a command's output. */
export class PushedEvents {
  /** Resolves when the reader has disconnected or has received everything. */
  readonly closed: Promise<void>
  readonly #raw: ServerResponse
  readonly #heartbeat: NodeJS.Timeout

  /** Sends the 200 headers: no error status can follow. */
  constructor(reply: FastifyReply) {
    reply.hijack()
    this.#raw = reply.raw
    this.#raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'x-request-id': reply.request.id,
    })
    this.#raw.flushHeaders()
    this.#heartbeat = setInterval(() => {
      if (!this.isFull) this.#raw.write(': alive\n\n')
    }, HEARTBEAT_MS)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    const onClose = () => {
      clearInterval(this.#heartbeat)
      resolve()
    }
    this.#raw.once('close', onClose)
    if (this.#raw.destroyed) onClose()
  }

  /** The reader is slow: further writes are buffered in memory. */
  get isFull(): boolean {
    return this.#raw.writableNeedDrain
  }

  /** Calls `listener` whenever the buffer has drained. */
  onDrain(listener: () => void): void {
    this.#raw.on('drain', listener)
  }

  write(event: string, data: unknown, id?: number): void {
    if (this.#raw.writableEnded || this.#raw.destroyed) return
    const position = id === undefined ? '' : `id: ${id}\n`
    this.#raw.write(`${position}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  end(): void {
    clearInterval(this.#heartbeat)
    this.#raw.end()
  }
}
