import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import { isUuid } from '@offshoot/contract/ids'
import { bootMode, type SandboxStatus } from '@offshoot/contract/sandbox'
import type pg from 'pg'
import type { EventStore } from '../analytics/event-store.ts'
import { transaction } from '../db/transaction.ts'
import { meterRecords } from '../metering/meter-records.ts'
import { lockAgentCursor, setAgentCursor } from './agent-statements.ts'
import { applyDeleted, applyPromoted, applyStatus } from './record-statements.ts'

/** What each event leaves a sandbox's row at; `null` where it changes none. */
const STATUS_AFTER: Record<EventType, SandboxStatus | 'removed' | null> = {
  'sandbox.running': 'running',
  'sandbox.ssh_ready': null,
  'sandbox.paused': 'paused',
  'sandbox.resumed': 'running',
  'sandbox.hibernated': 'hibernated',
  'sandbox.woken': 'running',
  'sandbox.deleted': 'removed',
  'sandbox.forked': null,
  'sandbox.warmforked': null,
  'fork.staged': null,
  'fork.completed': null,
  'fork.child_failed': null,
  'fork_tree.completed': null,
  'fork_tree.promoted': null,
  'warmfork.staged': null,
  'vm.died': 'failed',
  'recover.orphaned': 'failed',
  'recover.unmanaged': null,
  'sandbox.port_opened': null,
  'sandbox.port_closed': null,
  // Never in a log: it is said to one reader.
  'events.dropped': null,
}

/**
 * Applies records of one agent's log, each exactly once, and moves the cursor with them in one transaction: whatever is
 * delivered twice, out of order across processes, or again after a crash lies at or below the cursor and is passed over.
 *
 * @returns the cursor as it stands afterwards
 */
export async function applyRecords(
  pool: pg.Pool,
  store: EventStore,
  agentId: string,
  records: readonly AgentRecord[],
): Promise<number> {
  await store.prepare(records)
  return transaction(pool, async (client) => {
    const [agent] = await lockAgentCursor(client, agentId)
    if (agent === undefined) throw new Error(`no agent ${agentId}`)
    const fresh = records.filter(({ seq }) => seq > agent.cursor)
    const last = fresh.at(-1)
    if (last === undefined) return agent.cursor
    await meterRecords(client, fresh)
    await store.append(client, fresh)
    for (const record of fresh) await applyRecord(client, agentId, record)
    await setAgentCursor(client, agentId, last.seq)
    return last.seq
  })
}

async function applyRecord(client: pg.PoolClient, agentId: string, { seq, event }: AgentRecord): Promise<void> {
  const status = STATUS_AFTER[event.type]
  if (!isUuid(event.sandbox_id)) return
  if (event.type === 'fork_tree.promoted') await applyPromoted(client, event.sandbox_id, agentId)
  if (status === null) return
  if (status === 'removed') {
    await applyDeleted(client, event.sandbox_id, agentId, seq)
    return
  }
  const { boot_ms, boot_mode, guest_ip } = event.metadata
  const mode = bootMode.safeParse(boot_mode)
  await applyStatus(
    client,
    event.sandbox_id,
    agentId,
    seq,
    status,
    typeof boot_ms === 'number' && Number.isSafeInteger(boot_ms) ? boot_ms : null,
    mode.success ? mode.data : null,
    typeof guest_ip === 'string' ? guest_ip : null,
  )
}
