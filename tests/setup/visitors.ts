import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { call } from './http.ts'

/** Maximum concurrent requests, so that a slow service is not overloaded further. */
const MAX_AT_ONCE = 32

/** Milliseconds for a WebSocket handshake, after which it closes with 1006. */
const HANDSHAKE_MS = 30_000

export interface VisitorsOptions {
  readonly url: string
  readonly host: string
  /** Requests per second, while fewer than {@link MAX_AT_ONCE} are in flight. */
  readonly perSecond: number
  readonly webSockets: number
}

/** Simulated visitors of an app: requests at a steady rate, and WebSockets that reconnect. */
export class Visitors {
  /** Number of answers by content: a version, or any other answer. */
  readonly seen = new Map<string, number>()
  /** Codes of closed WebSockets, in order. */
  readonly closes: number[] = []
  /** Number of opened WebSockets. */
  opens = 0
  requests = 0
  readonly #options: VisitorsOptions
  readonly #stopped = new AbortController()
  readonly #begunAtMs = performance.now()
  readonly #underWay = new Set<Promise<void>>()
  readonly #running: Promise<unknown>

  constructor(options: VisitorsOptions) {
    this.#options = options
    const sockets = Array.from({ length: options.webSockets }, async () => this.#keepOpen())
    this.#running = Promise.all([this.#keepAsking(), ...sockets])
  }

  /** Answered requests per second so far. */
  get pace(): number {
    return (this.requests * 1000) / (performance.now() - this.#begunAtMs)
  }

  /** Resolves when all requests are answered. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
    await Promise.all(this.#underWay)
  }

  async #keepAsking(): Promise<void> {
    const everyMs = 1000 / this.#options.perSecond
    for (let dueAtMs = performance.now(); !this.#stopped.signal.aborted; dueAtMs += everyMs) {
      const waitMs = dueAtMs - performance.now()
      if (waitMs > 1) await delay(waitMs)
      // Skip missed requests instead of sending them in a burst.
      else dueAtMs = performance.now()
      while (this.#underWay.size >= MAX_AT_ONCE) await Promise.race(this.#underWay)
      const asked = this.#ask().finally(() => this.#underWay.delete(asked))
      this.#underWay.add(asked)
    }
  }

  async #ask(): Promise<void> {
    const { url, host } = this.#options
    const what = await call('GET', url, { headers: { host } }).then(
      ({ status, text }) => (status === 200 ? text : `${status} ${text.slice(0, 200)}`),
      (error: Error) => `no answer: ${error.message}`,
    )
    this.requests += 1
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
  }

  async #keepOpen(): Promise<void> {
    const { url, host } = this.#options
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const socket = new WebSocket(url.replace('http', 'ws'), { headers: { host }, handshakeTimeout: HANDSHAKE_MS })
      socket.once('open', () => {
        this.opens += 1
      })
      const end = () => socket.terminate()
      signal.addEventListener('abort', end)
      socket.on('error', () => undefined)
      const closed = Promise.withResolvers<number>()
      socket.once('close', closed.resolve)
      const code = await closed.promise
      signal.removeEventListener('abort', end)
      if (!signal.aborted) this.closes.push(code)
    }
  }
}
