import type { AgentRecord } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import { bootMode } from '@offshoot/contract/sandbox'
import type pg from 'pg'
import { storable } from '../platform/db/storable.ts'
import { transaction } from '../platform/db/transaction.ts'
import { lockCursorForRecords, setAgentCursor } from './agent-statements.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { applyPromoted, applyStatuses } from './record-statements.ts'
import { STATUS_AFTER } from './status-after.ts'

/**
 * Applies records of one agent's log, each exactly once, and moves the cursor in the same transaction. Records may
 * arrive twice, out of order across processes, or again after a crash; then they are at or below the cursor and are
 * skipped.
 *
 * @param agent `isTrusted`: it runs on control's own machine. Records of another one count for its own sandboxes only
 * @param lastSeq the new cursor. It may be above the last record, if later ones were skipped as unreadable
 * @returns the cursor afterwards
 */
export async function applyRecords(
  pool: pg.Pool,
  kinds: readonly AgentHooks[],
  agentId: string,
  records: readonly AgentRecord[],
  lastSeq = records.at(-1)?.seq ?? 0,
): Promise<number> {
  for (const { prepareRecords } of kinds) await prepareRecords?.(records)
  return transaction(pool, async (client) => {
    const [agent] = await lockCursorForRecords(client, agentId)
    if (agent === undefined) throw new Error(`no agent ${agentId}`)
    const fresh = records.filter(({ seq }) => seq > agent.cursor)
    if (lastSeq <= agent.cursor) return agent.cursor
    const seen = await withoutHidden(client, kinds, fresh)
    for (const each of kinds) await each.applyRecords?.(client, seen)
    await setAgentCursor(client, agentId, lastSeq)
    // Last, because requests that change a sandbox wait for as long as this transaction locks its row.
    await applyToRows(client, agentId, fresh)
    return lastSeq
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

async function applyToRows(client: pg.PoolClient, agentId: string, records: readonly AgentRecord[]): Promise<void> {
  const known = records.filter(({ event }) => isUuid(event.sandbox_id))
  const promoted = known.filter(({ event }) => event.type === 'fork_tree.promoted')
  if (promoted.length > 0) {
    await applyPromoted(
      client,
      promoted.map(({ event }) => event.sandbox_id),
      agentId,
    )
  }
  const statuses = known.flatMap(statusOf)
  if (statuses.length > 0) await applyStatuses(client, agentId, JSON.stringify(statuses, storable))
}

function statusOf({ seq, event }: AgentRecord) {
  const status = STATUS_AFTER[event.type]
  if (status === null) return []
  const { boot_ms, boot_mode, guest_ip } = event.metadata
  const mode = bootMode.safeParse(boot_mode)
  return [
    {
      id: event.sandbox_id,
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
