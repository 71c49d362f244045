import type { AgentRecord } from '@offshoot/contract/agent-api'
import type pg from 'pg'
import type { AgentHooks } from './agent-hooks.ts'
import { applyRecords, type ArrivedBatch } from './apply-records.ts'
import { ownRecords } from './own-records.ts'

/** Transactions at the same time. A batch that waits for a lock does not stop the other agents' batches. */
const LANES = 2
/** Records of one transaction, unless a single batch has more. */
const MAX_RECORDS = 1_024

interface Waiting {
  readonly batch: ArrivedBatch
  readonly applied: PromiseWithResolvers<readonly AgentRecord[]>
}

/**
 * Applies batches of many agents in common transactions: those that arrive during one transaction share the next. So a
 * batch never waits for others to arrive, and many small ones cost little more than one large one.
 */
export class RecordGroups {
  readonly #pool: pg.Pool
  readonly #kinds: readonly AgentHooks[]
  readonly #waiting: Waiting[] = []
  #running = 0

  constructor(pool: pg.Pool, kinds: readonly AgentHooks[]) {
    this.#pool = pool
    this.#kinds = kinds
  }

  /**
   * Resolves when the transaction has committed, to the records that count. An agent's next batch must not be added
   * before.
   */
  async apply(batch: ArrivedBatch): Promise<readonly AgentRecord[]> {
    const applied = Promise.withResolvers<readonly AgentRecord[]>()
    this.#waiting.push({ batch, applied })
    if (this.#running < LANES) void this.#run()
    return applied.promise
  }

  async #run(): Promise<void> {
    this.#running += 1
    for (let group = this.#next(); group.length > 0; group = this.#next()) await this.#applyGroup(group)
    this.#running -= 1
  }

  #next(): readonly Waiting[] {
    let records = 0
    const end = this.#waiting.findIndex(({ batch }, at) => {
      records += batch.records.length
      return at > 0 && records > MAX_RECORDS
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #applyGroup(group: readonly Waiting[]): Promise<void> {
    try {
      const counting = await this.#applyAll(group.map(({ batch }) => batch))
      for (const [at, { applied }] of group.entries()) applied.resolve(counting[at] ?? [])
    } catch (error) {
      const [only] = group
      if (only !== undefined && group.length === 1) only.applied.reject(error)
      // One agent's faulty record must not stop the others' logs.
      else for (const each of group) await this.#applyGroup([each])
    }
  }

  async #applyAll(batches: readonly ArrivedBatch[]): Promise<readonly (readonly AgentRecord[])[]> {
    const counting = await ownRecords(this.#pool, batches)
    await applyRecords(
      this.#pool,
      this.#kinds,
      batches.map(({ agentId, lastSeq }, at) => ({ agentId, lastSeq, records: counting[at] ?? [] })),
    )
    return counting
  }
}
