import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import type pg from 'pg'
import type { SandboxRow } from './sandbox-row.ts'
import { sandboxOfWorkspace } from './sandbox-lookups.ts'

/** What is needed to pass an operation on. */
export type SandboxPlace = Pick<SandboxRow, 'id' | 'workspace_id' | 'agent_id' | 'status' | 'managed_by'>

/** Places kept; those found longest ago go first. */
const MAX_KEPT = 50_000
/** From then on a sandbox stays on its agent. */
const HAS_RUN: ReadonlySet<SandboxStatus> = new Set(['running', 'paused', 'hibernated'])

/**
 * Where sandboxes are. A sandbox that has run changes neither workspace nor agent, so its place is asked for once; whether
 * it is still there, and in what state, its agent knows best.
 */
export class SandboxPlaces {
  readonly #pool: pg.Pool
  readonly #kept = new Map<SandboxId, SandboxPlace>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** `null` for an unknown sandbox and for one of another workspace. */
  async find(id: SandboxId, workspaceId: WorkspaceId): Promise<SandboxPlace | null> {
    const kept = this.#kept.get(id)
    if (kept !== undefined) return kept.workspace_id === workspaceId ? kept : null
    const [row] = await sandboxOfWorkspace(this.#pool, id, workspaceId)
    if (row === undefined) return null
    const { workspace_id, agent_id, status, managed_by } = row
    const place = { id, workspace_id, agent_id, status, managed_by }
    if (HAS_RUN.has(status)) this.#keep(place)
    return place
  }

  /** Asks the database again next time. */
  forget(id: SandboxId): void {
    this.#kept.delete(id)
  }

  #keep(place: SandboxPlace): void {
    this.#kept.set(place.id, place)
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value ?? place.id)
  }
}
