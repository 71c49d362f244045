import { EDGE_APPS_PATH } from '@offshoot/contract/edge-app'
import type { FastifyInstance } from 'fastify'
import type { AppsContext } from './model/apps-context.ts'
import { HEARTBEAT_MS } from '../../platform/http/event-stream.ts'
import { admitEdge } from '../../fleet/admit-edge.ts'
import { edgeApps } from './edge-app-statements.ts'

/** `GET /internal/apps`, for edges: where each app is served, then every change of that. Not part of the public API. */
export function getEdgeApps(app: FastifyInstance, control: AppsContext): void {
  app.get(EDGE_APPS_PATH, async (request, reply) => {
    await admitEdge(control, request)
    reply.hijack()
    const { raw } = reply
    raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    raw.flushHeaders()
    const feed = new Feed(control, (event, data) => raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
    control.edgeStreams.add(feed)
    const heartbeat = setInterval(() => raw.write(': \n\n'), HEARTBEAT_MS)
    const forget = control.openStreams.add(() => raw.destroy())
    await new Promise((resolve) => raw.once('close', resolve))
    clearInterval(heartbeat)
    forget()
    feed.stop()
    control.edgeStreams.delete(feed)
  })
}

/**
 * Reads the changed apps and sends them. It runs one query at a time; changes in the meantime are merged into the next.
 */
class Feed {
  readonly #control: AppsContext
  readonly #send: (event: string, data: unknown) => void
  readonly #forget: () => void
  /** `null`: all apps. */
  #changed: Set<string> | null = null
  #isReading = false
  #isOver = false

  constructor(control: AppsContext, send: (event: string, data: unknown) => void) {
    this.#control = control
    this.#send = send
    this.#forget = control.notifications.listen('apps', (id) => this.#note(id))
    this.#note(null)
  }

  stop(): void {
    this.#isOver = true
    this.#forget()
  }

  #note(id: string | null): void {
    if (id === null) this.#changed = null
    else this.#changed?.add(id)
    if (!this.#isReading) void this.#read()
  }

  async #read(): Promise<void> {
    this.#isReading = true
    try {
      while (!this.#isOver && (this.#changed === null || this.#changed.size > 0)) {
        const ids = this.#changed === null ? null : [...this.#changed]
        this.#changed = new Set()
        await this.#tell(ids)
      }
    } catch (error) {
      this.#control.log.warn({ err: error }, 'apps for the edge: read again')
      // The read failed and nothing was sent. The next change sends all apps; an edge that reconnects also gets all.
      this.#changed = null
    } finally {
      this.#isReading = false
    }
  }

  async #tell(ids: readonly string[] | null): Promise<void> {
    const rows = await edgeApps(this.#control.database.pool, ids)
    if (this.#isOver) return
    if (ids === null) {
      this.#send('all', rows)
      return
    }
    const found = new Map(rows.map((row) => [row.id, row]))
    for (const id of ids) {
      const row = found.get(id)
      if (row === undefined) this.#send('gone', { id })
      else this.#send('app', row)
    }
  }
}
