import type { AgentRecord } from '@offshoot/contract/agent-api'
import type pg from 'pg'
import { isDatabaseUnreachable } from '../platform/db/database-unreachable.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { type AgentRecords, applyRecords } from './apply-records.ts'
import { ownRecords } from './own-records.ts'

/** Records of one transaction, unless a single log has more. Requests wait while it locks the rows of their sandboxes. */
const MAX_RECORDS = 1_000

/** The next records of an agent that this process follows. */
export interface FollowedRecords extends AgentRecords {
  /** It is on another machine, whose records are believed for its own sandboxes only. */
  readonly hasJoined: boolean
}

interface Waiting {
  readonly log: FollowedRecords
  readonly resolve: (counting: readonly AgentRecord[]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Applies the records of all agents that this process follows, those of many agents in one transaction (group commit):
 * while one transaction runs, the records for the next one collect.
 */
export class RecordWriter {
  readonly #pool: pg.Pool
  readonly #kinds: readonly AgentHooks[]
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(pool: pg.Pool, kinds: readonly AgentHooks[]) {
    this.#pool = pool
    this.#kinds = kinds
  }

  /** @returns the records that counted, once they are applied */
  apply(log: FollowedRecords): Promise<readonly AgentRecord[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly AgentRecord[]>()
    this.#waiting.push({ log, resolve, reject })
    if (!this.#isWriting) void this.#writeAll()
    return promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    // Records that arrive in the same turn of the event loop join the first transaction.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#write(this.#take())
    this.#isWriting = false
  }

  /** Each agent once, because a transaction reads its cursor once. */
  #take(): Waiting[] {
    const agents = new Set<string>()
    const taken: Waiting[] = []
    const left: Waiting[] = []
    let count = 0
    for (const each of this.#waiting) {
      const { agentId, records } = each.log
      const fits = taken.length === 0 || count + records.length <= MAX_RECORDS
      if (fits && !agents.has(agentId)) {
        taken.push(each)
        count += records.length
      } else left.push(each)
      agents.add(agentId)
    }
    this.#waiting = left
    return taken
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    try {
      const counting = await ownRecords(
        this.#pool,
        group.map(({ log }) => log),
      )
      await applyRecords(this.#pool, this.#kinds, counting)
      for (const [at, { resolve }] of group.entries()) resolve(counting[at]?.records ?? [])
    } catch (error) {
      // The records of one agent must not block those of the others.
      if (group.length > 1 && !isDatabaseUnreachable(error)) for (const each of group) await this.#write([each])
      else for (const { reject } of group) reject(error)
    }
  }
}
