import { randomUUID } from 'node:crypto'
import type { GuestConnection } from '@offshoot/guest-link/guest-connection'
import type { Sandbox } from '../model/sandbox.ts'

/** Milliseconds for the edge to fetch a connection. */
const FETCH_MS = 10_000
/** Connections of one sandbox that wait for the edge. Further ones are reset. */
const MAX_WAITING = 128

interface Waiting {
  readonly sandbox: Sandbox
  readonly connection: GuestConnection
  readonly timer: NodeJS.Timeout
}

/** Connections that a listener in a sandbox has accepted, until the edge fetches each by its id. */
export class AcceptedConnections {
  readonly #waiting = new Map<string, Waiting>()

  /** @returns the id; `null` if too many wait */
  add(sandbox: Sandbox, connection: GuestConnection): string | null {
    const ofSandbox = [...this.#waiting.values()].filter((each) => each.sandbox === sandbox)
    if (ofSandbox.length >= MAX_WAITING) {
      connection.abort()
      return null
    }
    const id = randomUUID()
    const timer = setTimeout(() => this.take(sandbox, id)?.abort(), FETCH_MS)
    this.#waiting.set(id, { sandbox, connection, timer })
    return id
  }

  /** `null` if the sandbox has no such connection, or it was fetched before. */
  take(sandbox: Sandbox, id: string): GuestConnection | null {
    const waiting = this.#waiting.get(id)
    if (waiting?.sandbox !== sandbox) return null
    clearTimeout(waiting.timer)
    this.#waiting.delete(id)
    return waiting.connection
  }
}
