import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import type { SandboxStatus } from '@offshoot/contract/sandbox'
import type pg from 'pg'
import type { Notifications } from '../platform/db/notifications.ts'
import type { SandboxRow } from './sandbox-row.ts'
import { locationOfSandbox } from './sandbox-lookups.ts'

/** The fields that are needed to forward an operation. */
export type SandboxLocation = Pick<SandboxRow, 'id' | 'workspace_id' | 'agent_id' | 'status' | 'managed_by'> & {
  /** Whether a stored copy keeps it from waking. Absent: not known. */
  readonly is_held?: boolean
}

/** Cached locations. Beyond that the oldest are dropped. */
const MAX_KEPT = 50_000
/** From these statuses on, a sandbox stays on its agent. */
const HAS_RUN: ReadonlySet<SandboxStatus> = new Set(['running', 'paused', 'hibernated'])

/**
 * Caches where sandboxes are. A sandbox that has run never changes its workspace, and PostgreSQL notifies each process
 * when it has moved to another agent or is copied, so its location is read once. Only the agent knows whether it still exists, and in
 * what state.
 */
export class SandboxLocations {
  readonly #pool: pg.Pool
  readonly #kept = new Map<SandboxId, SandboxLocation>()
  /** Notices of moves so far: what was read before one may be out of date. */
  #notices = 0

  constructor(pool: pg.Pool, notifications: Pick<Notifications, 'listen'>) {
    this.#pool = pool
    notifications.listen('moves', (id) => {
      this.#notices += 1
      if (id === null) this.#kept.clear()
      else this.#kept.delete(id as SandboxId)
    })
  }

  /** `null` for an unknown sandbox and for one of another workspace. */
  async find(id: SandboxId, workspaceId: WorkspaceId): Promise<SandboxLocation | null> {
    const kept = this.#kept.get(id)
    if (kept !== undefined) return kept.workspace_id === workspaceId ? kept : null
    const notices = this.#notices
    const [location] = await locationOfSandbox(this.#pool, id, workspaceId)
    if (location === undefined) return null
    if (HAS_RUN.has(location.status) && !location.is_held && notices === this.#notices) this.#keep(location)
    return location
  }

  /** Makes the next lookup ask the database again. */
  forget(id: SandboxId): void {
    this.#kept.delete(id)
  }

  #keep(location: SandboxLocation): void {
    this.#kept.set(location.id, location)
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value ?? location.id)
  }
}
