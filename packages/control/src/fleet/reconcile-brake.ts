import type { WaitingObject } from '@offshoot/contract/host-reconciliation'
import type pg from 'pg'
import type { Logger } from 'pino'
import { confirmedObjects, keepWaiting, type NewlyWaiting, recordedRemovals } from './reconcile-statements.ts'

/** Objects with a recorded removal that one round deletes. The next round deletes more. */
const MAX_DELETED = 64
/**
 * Rows of one kind that one round may remove for missing objects. If more are missing, the host's disk is more likely
 * incomplete.
 */
const MAX_FORGOTTEN = 8

export interface Removable {
  readonly id: string
  readonly workspace_id: string
}

/**
 * Decides what one round of reconciliation may remove. A missing row is no reason to delete: the database may be an
 * older copy of itself, empty, or another cluster's.
 *
 * - It deletes an object from a host only if the database recorded that its row was removed (`removed_objects`), or an
 *   operator confirmed the deletion.
 * - It removes rows whose objects are missing only if they are few, or confirmed.
 * - It removes nothing while the host obeys another cluster.
 *
 * Everything else waits in `reconcile_waiting` for `POST /v1/admin/hosts/{id}/reconcile`.
 */
export class ReconcileBrake {
  readonly #pool: pg.Pool
  readonly #agentId: string
  readonly #isForeign: boolean
  readonly #confirmed: ReadonlySet<string>
  readonly #waiting: NewlyWaiting[] = []
  #deletions = 0
  #isUnfinished = false

  private constructor(pool: pg.Pool, agentId: string, isForeign: boolean, confirmed: ReadonlySet<string>) {
    this.#pool = pool
    this.#agentId = agentId
    this.#isForeign = isForeign
    this.#confirmed = confirmed
  }

  /** @param isForeign whether the host obeys another cluster */
  static async open(pool: pg.Pool, agentId: string, isForeign: boolean): Promise<ReconcileBrake> {
    const confirmed = await confirmedObjects(pool, agentId)
    return new ReconcileBrake(
      pool,
      agentId,
      isForeign,
      new Set(confirmed.map((row) => keyOf(row.action, row.kind, row.id))),
    )
  }

  /** Whether recorded removals are left for another round. */
  get isUnfinished(): boolean {
    return this.#isUnfinished
  }

  /** @returns the host's objects without a row that may be deleted now */
  async deletable<T extends Removable>(kind: WaitingObject['kind'], withoutRow: readonly T[]): Promise<T[]> {
    if (withoutRow.length === 0) return []
    const ids = withoutRow.map(({ id }) => id)
    const recorded = new Set((await recordedRemovals(this.#pool, this.#agentId, ids)).map(({ id }) => id))
    const deletable: T[] = []
    for (const object of withoutRow) {
      const isConfirmed = this.#confirmed.has(keyOf('delete', kind, object.id))
      const isRecorded = recorded.has(object.id)
      // A confirmed object keeps waiting until the host no longer lists it, because its deletion may fail.
      if (this.#isForeign || !isRecorded) this.#wait('delete', kind, object)
      if (this.#isForeign || !(isConfirmed || isRecorded)) continue
      if (isRecorded && this.#deletions >= MAX_DELETED) this.#isUnfinished = true
      else {
        deletable.push(object)
        if (isRecorded) this.#deletions += 1
      }
    }
    return deletable
  }

  /** @returns the rows without an object that may be removed now */
  forgettable<T extends Removable>(kind: WaitingObject['kind'], lost: readonly T[]): T[] {
    if (!this.#isForeign && lost.length <= MAX_FORGOTTEN) return [...lost]
    for (const row of lost) this.#wait('forget', kind, row)
    return lost.filter(({ id }) => !this.#isForeign && this.#confirmed.has(keyOf('forget', kind, id)))
  }

  /** Stores the waiting objects for operators, replacing the earlier list. */
  async finish(log: Logger): Promise<void> {
    await keepWaiting(this.#pool, this.#agentId, JSON.stringify(this.#waiting))
    const waiting = this.#waiting.filter(({ action, kind, id }) => !this.#confirmed.has(keyOf(action, kind, id)))
    if (waiting.length === 0) return
    const about = { agent: this.#agentId, waiting: waiting.length, foreign: this.#isForeign }
    log.error(about, 'reconciliation waits for an operator: docs/recovery.md')
  }

  #wait(action: WaitingObject['action'], kind: WaitingObject['kind'], { id, workspace_id }: Removable): void {
    this.#waiting.push({ action, kind, id, workspace_id })
  }
}

function keyOf(action: string, kind: string, id: string): string {
  return `${action} ${kind} ${id}`
}
