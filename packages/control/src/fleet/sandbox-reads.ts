import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { SandboxRow } from './sandbox-row.ts'
import { sandboxesOfWorkspaces } from './sandbox-lookups.ts'

/** Concurrent queries. With two, the next one can be sent while the first is in progress. */
const MAX_ASKING = 2
/** Rows per query. */
const MAX_TOGETHER = 256

interface Wanted {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly give: (row: SandboxRow | null) => void
  readonly fail: (error: unknown) => void
}

/**
 * Reads sandboxes' rows, and combines concurrent requests into one query.
 *
 * It caches nothing: each request gets the state of the database after the request arrived. So a caller never reads a
 * state older than an answer that it has already got, from this process or another.
 */
export class SandboxReads {
  readonly #pool: pg.Pool
  /** Bounded by the number of requests in progress. */
  #waiting: Wanted[] = []
  #asking = 0
  #isDue = false

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** `null` for an unknown sandbox and for one of another workspace. */
  find(id: SandboxId, workspaceId: WorkspaceId): Promise<SandboxRow | null> {
    const { promise, resolve, reject } = Promise.withResolvers<SandboxRow | null>()
    this.#waiting.push({ id, workspaceId, give: resolve, fail: reject })
    this.#askSoon()
    return promise
  }

  /** Defers the query by one turn of the event loop, so that it includes the requests that arrived together. */
  #askSoon(): void {
    if (this.#isDue || this.#asking >= MAX_ASKING || this.#waiting.length === 0) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      void this.#ask(this.#waiting.splice(0, MAX_TOGETHER))
      this.#askSoon()
    })
  }

  async #ask(wanted: readonly Wanted[]): Promise<void> {
    this.#asking += 1
    try {
      const ids = [...new Set(wanted.map(({ id }) => id))]
      const workspaces = [...new Set(wanted.map(({ workspaceId }) => workspaceId))]
      const rows = await sandboxesOfWorkspaces(this.#pool, ids, workspaces)
      const byId = new Map(rows.map((row) => [row.id, row]))
      for (const { id, workspaceId, give } of wanted) {
        const row = byId.get(id)
        give(row?.workspace_id === workspaceId ? row : null)
      }
    } catch (error) {
      for (const { fail } of wanted) fail(error)
    } finally {
      this.#asking -= 1
      this.#askSoon()
    }
  }
}
