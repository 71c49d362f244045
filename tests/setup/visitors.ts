import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { call } from './http.ts'

/** Requests under way at the same time, at most: a service that falls behind is asked less, not more and more at once. */
const MAX_AT_ONCE = 32

/** Milliseconds for a WebSocket to be opened: one that is not is closed with 1006. */
const HANDSHAKE_MS = 30_000

export interface VisitorsOptions {
  readonly url: string
  readonly host: string
  /** Requests begun in a second, as long as no more than {@link MAX_AT_ONCE} are under way. */
  readonly perSecond: number
  readonly webSockets: number
}

/** People at an app: requests at a steady pace, and WebSockets that are opened again when they are closed. */
export class Visitors {
  /** How often each was answered: a version, or what was no answer of a version. */
  readonly seen = new Map<string, number>()
  /** Codes of the WebSockets that were closed, in order. */
  readonly closes: number[] = []
  /** WebSockets that were opened. */
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

  /** Requests answered in a second so far. */
  get pace(): number {
    return (this.requests * 1000) / (performance.now() - this.#begunAtMs)
  }

  /** Returns when the last of them is answered. */
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
      // What could not be asked in time is not made up for by asking all of it at once.
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
      const [code] = (await once(socket, 'close')) as [number]
      signal.removeEventListener('abort', end)
      if (!signal.aborted) this.closes.push(code)
    }
  }
}
