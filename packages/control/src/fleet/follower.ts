import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { keepFollowing } from '@offshoot/kit/keep-following'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import type { Logger } from 'pino'
import type { Database } from '../platform/db/database.ts'
import type { HeldLocks, ProcessLock } from '../platform/db/process-lock.ts'
import { runFor } from '../platform/db/tenant-pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { AgentClient } from './agent-client.ts'
import { agentCursor, forgetSequence, setAgentCursors } from './agent-statements.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { readRecords } from './read-records.ts'
import { reconcile } from './reconcile.ts'
import type { RecordGroups } from './record-groups.ts'
import type { SandboxChanges } from './sandbox-changes.ts'

/** Milliseconds between two attempts to get the lock that makes this process the follower. */
const LEAD_RETRY_MS = 1_000
const RECONCILE_EVERY_MS = 60_000
/** Milliseconds until the next reconciliation after abandoned rows were removed, because their VMs may still appear. */
const RECONCILE_AGAIN_MS = 3_000
/** Reconciliations of all hosts share the connections of one tenant, so requests get theirs at once. */
const TENANT = 'reconciliation'

export interface FollowerOptions {
  readonly agentId: string
  /** It is on another machine, whose records are believed for its own sandboxes only. */
  readonly hasJoined: boolean
  /** Seconds of a lease of a host that has joined; `null`: hosts need none. */
  readonly leaseSeconds: number | null
  /** The id of this control's database. */
  readonly clusterId: string
  readonly client: AgentClient
  readonly database: Database
  readonly lock: ProcessLock
  readonly kinds: readonly AgentHooks[]
  /** Applies the records. */
  readonly groups: RecordGroups
  readonly changes: SandboxChanges
  /** Called after records were skipped because this version cannot read them. */
  readonly onSkipped: (records: number) => void
  readonly log: Logger
}

/**
 * Follows one agent's log and keeps the rows consistent with it.
 *
 * host answers → waiting for the lock → connected (backlog, then live) → connection lost → backoff → connected → …
 *
 * A process that cannot connect again releases the lock, and does not ask for it until the host answers it. So another
 * process follows an agent that this one cannot reach. One that has lost the lock follows no longer.
 *
 * After each connect, every minute, and on request ({@link reconcileSoon}), it compares the agent's list with the rows.
 * The log reports what happened; the comparison finds objects that the log never mentions.
 */
export class Follower {
  readonly #options: FollowerOptions
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>
  #reconciling: Promise<void> = Promise.resolve()
  #isReconcileQueued = false
  #isConnected = false
  readonly #leaseKeeper: LeaseKeeper | null

  constructor(options: FollowerOptions) {
    this.#options = options
    const { agentId, client, database, hasJoined, leaseSeconds: seconds, log } = options
    const keeping = { agentId, client, pool: database.pool, seconds, isLeading: () => this.#isConnected, log }
    this.#leaseKeeper = hasJoined ? new LeaseKeeper(keeping) : null
    this.#running = this.#run()
  }

  /**
   * Reconciles again at once, because the agent may have started something without a row. Several requests are merged
   * into one.
   */
  reconcileSoon(): void {
    if (this.#isReconcileQueued || this.#stopped.signal.aborted) return
    this.#isReconcileQueued = true
    this.#reconciling = this.#reconcileAfter(this.#reconciling)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#leaseKeeper?.stop()
    await this.#running
    await this.#reconciling
  }

  async #reconcileAfter(previous: Promise<void>): Promise<void> {
    await previous
    this.#isReconcileQueued = false
    const { agentId, clusterId, client, database, kinds, log } = this.#options
    const { signal } = this.#stopped
    try {
      const from = { pool: database.pool, client, agentId, clusterId, log, signal }
      const lookAgain = await runFor({ tenant: TENANT }, () => reconcile(from, kinds))
      if (lookAgain) setTimeout(() => this.reconcileSoon(), RECONCILE_AGAIN_MS).unref()
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error, agent: agentId }, 'reconciliation failed: trying again later')
    }
  }

  #run(): Promise<void> {
    const { signal } = this.#stopped
    const { agentId, client, changes, lock, log } = this.#options
    let isLeading = false
    const follow = async (onConnected: () => void) => {
      if (!isLeading) await client.info(randomUUID())
      const { lost } = await this.#lead()
      let isConnected = false
      try {
        // Another process may have led meanwhile.
        if (!isLeading) await changes.addEverything()
        isLeading = true
        await this.#follow(lost, () => {
          isConnected = true
          onConnected()
        })
      } finally {
        if (!isConnected || signal.aborted || lost.aborted) {
          isLeading = false
          await lock.stopLeading(agentId).catch(() => undefined)
        }
      }
      log.info({ agent: agentId }, 'event stream ended')
    }
    const onOutage = (error: unknown) => log.warn({ err: error, agent: agentId }, 'event stream broke')
    return keepFollowing({ follow, onOutage }, signal)
  }

  /** Resolves when this process is the follower. Rejects when it stops. */
  async #lead(): Promise<HeldLocks> {
    const { agentId, lock } = this.#options
    for (;;) {
      const { held } = lock
      const isLeading = await lock.tryLead(agentId).catch(() => false)
      if (isLeading && held !== null && held === lock.held) return held
      await delay(LEAD_RETRY_MS, undefined, { signal: this.#stopped.signal })
    }
  }

  /** @param lost aborts when another process may follow the agent */
  async #follow(lost: AbortSignal, onConnected: () => void): Promise<void> {
    const { agentId, hasJoined, client, groups, changes, onSkipped, log } = this.#options
    const cursor = await this.#cursor()
    const stream = await client.events(cursor, randomUUID(), AbortSignal.any([this.#stopped.signal, lost]))
    onConnected()
    this.#isConnected = true
    log.info({ agent: agentId, cursor }, 'following events')
    this.reconcileSoon()
    const reconcileAgain = () => {
      this.reconcileSoon()
      timer = setTimeout(reconcileAgain, RECONCILE_EVERY_MS)
    }
    // Each agent at another moment of the minute, also if this process has just started.
    let timer = setTimeout(reconcileAgain, Math.random() * RECONCILE_EVERY_MS)
    try {
      for await (const events of readServerSentEvents(stream)) {
        const { records, lastSeq, skipped } = readRecords(events)
        if (lastSeq === null) continue
        const counting = await groups.apply({ agentId, hasJoined, records, lastSeq })
        if (counting.length < records.length) log.warn({ agent: agentId }, 'the host told of sandboxes of others')
        changes.add(counting.map(({ event }) => event.sandbox_id))
        for (const { seq, error } of skipped) log.error({ agent: agentId, seq, err: error }, 'record passed over')
        if (skipped.length > 0) onSkipped(skipped.length)
      }
    } finally {
      this.#isConnected = false
      clearTimeout(timer)
      stream.destroy()
    }
  }

  /**
   * The position from which to continue. If the log ends before the cursor, it was lost with the agent's disk, so start
   * from its beginning.
   */
  async #cursor(): Promise<number> {
    const { agentId, client, database, log } = this.#options
    const [agent] = await agentCursor(database.pool, agentId)
    if (agent === undefined) throw new Error(`no agent ${agentId}`)
    const info = await client.info(randomUUID())
    if (info.agent_id !== agentId) throw new Error(`${client.url} is now agent ${info.agent_id}`)
    if (info.last_seq >= agent.cursor) return agent.cursor
    log.error({ agent: agentId, cursor: agent.cursor, last_seq: info.last_seq }, 'the agent has lost its log')
    await transaction(database.pool, async (connection) => {
      await setAgentCursors(connection, [agentId], [0])
      await forgetSequence(connection, agentId)
    })
    return 0
  }
}
