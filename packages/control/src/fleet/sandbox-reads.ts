import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { SandboxRow } from './sandbox-row.ts'
import { sandboxesOfWorkspaces } from './sandbox-lookups.ts'

/** Questions to the database under way: while one is waited for, another can be sent. */
const MAX_ASKING = 2
/** Rows asked for by one question. */
const MAX_TOGETHER = 256

interface Wanted {
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly give: (row: SandboxRow | null) => void
  readonly fail: (error: unknown) => void
}

/**
 * Rows of sandboxes, those that many requests ask for at the same time by one question. Nothing is kept: each request is told what the
 * database knew after it had come, so that nobody reads what was before an answer of ours, or of another process.
 */
export class SandboxReads {
  readonly #pool: pg.Pool
  /** As many as there are requests. */
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

  /** After the requests that have come with this one. */
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
