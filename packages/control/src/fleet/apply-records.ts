import type { AgentRecord } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import { bootMode } from '@offshoot/contract/sandbox'
import type pg from 'pg'
import { storable } from '../platform/db/storable.ts'
import { transaction } from '../platform/db/transaction.ts'
import { lockCursorsForRecords, setAgentCursors } from './agent-statements.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { applyPromoted, applyStatuses } from './record-statements.ts'
import { STATUS_AFTER } from './status-after.ts'

/** Records of one agent's log, in the log's order. */
export interface RecordBatch {
  readonly agentId: string
  readonly records: readonly AgentRecord[]
  /** The new cursor. It may be above the last record, if later ones were skipped as unreadable. */
  readonly lastSeq: number
}

export interface ArrivedBatch extends RecordBatch {
  /** The agent is on another machine, whose records are believed for its own sandboxes only. */
  readonly hasJoined: boolean
}

/** A batch in which no record was skipped. */
export function batchOf(agentId: string, records: readonly AgentRecord[]): RecordBatch {
  return { agentId, records, lastSeq: records.at(-1)?.seq ?? 0 }
}

/**
 * Applies records of several agents' logs, each exactly once, and moves the cursors in the same transaction. Records may
 * arrive twice, out of order across processes, or again after a crash; then they are at or below the cursor and are
 * skipped.
 *
 * @param batches at most one of each agent
 */
export async function applyRecords(
  pool: pg.Pool,
  kinds: readonly AgentHooks[],
  batches: readonly RecordBatch[],
): Promise<void> {
  const all = batches.flatMap(({ records }) => records)
  for (const { prepareRecords } of kinds) await prepareRecords?.(all)
  await transaction(pool, async (client) => {
    const fresh = await freshOf(client, batches)
    const seen = await withoutHidden(
      client,
      kinds,
      fresh.flatMap(({ records }) => records),
    )
    for (const each of kinds) await each.applyRecords?.(client, seen)
    await setAgentCursors(
      client,
      fresh.map(({ agentId }) => agentId),
      fresh.map(({ lastSeq }) => lastSeq),
    )
    // Last, because requests that change a sandbox wait for as long as this transaction locks its row.
    await applyToRows(client, fresh)
  })
}

/** What was not applied before. */
async function freshOf(client: pg.PoolClient, batches: readonly RecordBatch[]): Promise<readonly RecordBatch[]> {
  const ids = batches.map(({ agentId }) => agentId)
  const cursors = new Map((await lockCursorsForRecords(client, ids)).map(({ id, cursor }) => [id, cursor]))
  return batches.flatMap(({ agentId, records, lastSeq }) => {
    const cursor = cursors.get(agentId)
    if (cursor === undefined) throw new Error(`no agent ${agentId}`)
    return lastSeq > cursor ? [{ agentId, records: records.filter(({ seq }) => seq > cursor), lastSeq }] : []
  })
}

async function withoutHidden(
  client: pg.PoolClient,
  kinds: readonly AgentHooks[],
  records: readonly AgentRecord[],
): Promise<readonly AgentRecord[]> {
  const ids = records.flatMap(({ event: { sandbox_id: id } }) => (isUuid(id) ? [id] : []))
  const hidden = new Set<string>()
  for (const { hiddenAmong } of kinds) for (const id of (await hiddenAmong?.(client, ids)) ?? []) hidden.add(id)
  return records.filter(({ event }) => !hidden.has(event.sandbox_id))
}

async function applyToRows(client: pg.PoolClient, batches: readonly RecordBatch[]): Promise<void> {
  const known = batches.flatMap(({ agentId, records }) =>
    records.flatMap((record) => (isUuid(record.event.sandbox_id) ? [{ agentId, record }] : [])),
  )
  const promoted = known.filter(({ record }) => record.event.type === 'fork_tree.promoted')
  if (promoted.length > 0) {
    await applyPromoted(
      client,
      promoted.map(({ record }) => record.event.sandbox_id),
      promoted.map(({ agentId }) => agentId),
    )
  }
  const statuses = known.flatMap(({ agentId, record }) => statusOf(agentId, record))
  if (statuses.length > 0) await applyStatuses(client, JSON.stringify(statuses, storable))
}

function statusOf(agentId: string, { seq, event }: AgentRecord) {
  const status = STATUS_AFTER[event.type]
  if (status === null) return []
  const { boot_ms, boot_mode, guest_ip } = event.metadata
  const mode = bootMode.safeParse(boot_mode)
  return [
    {
      id: event.sandbox_id,
      agent_id: agentId,
      seq,
      status,
      boot_ms: isCount(boot_ms) ? boot_ms : null,
      boot_mode: mode.success ? mode.data : null,
      guest_ip: typeof guest_ip === 'string' ? guest_ip : null,
    },
  ]
}

/** Whether PostgreSQL's `integer` can hold the value. An invalid value would block all later records. */
function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31
}
