import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentSandboxList } from '@offshoot/contract/agent-api'
import { isUuid } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type pg from 'pg'
import type { Logger } from 'pino'
import { type AgentClient, CREATE_TIMEOUT_MS } from './agent-client.ts'
import { databaseIncarnation, endStaleCopies, noteProven, noteSourceLost } from './copy-statements.ts'
import { agentCursor } from './agent-statements.ts'
import type { AgentHooks } from './agent-hooks.ts'
import { endMoves } from './end-moves.ts'
import { movingAmong } from './move-statements.ts'
import { orLog } from './or-log.ts'
import { ReconcileBrake } from './reconcile-brake.ts'
import { adoptStatus, failOrphan, type ReconcileRow, removeAbandoned, rowsOfAgent } from './reconcile-statements.ts'

/** Milliseconds for the rows to catch up with the agent's list. */
const CATCH_UP_MS = 10_000
/** Milliseconds between the first two looks at the rows. Each further pause is twice as long, up to the longest. */
const CATCH_UP_LOOK_MS = { first: 20, longest: 500 } as const

export interface Reconciliation {
  readonly pool: pg.Pool
  readonly client: AgentClient
  readonly agentId: string
  /** The id of this control's database. */
  readonly clusterId: string
  readonly log: Logger
  /** Aborts the wait for the log. */
  readonly signal: AbortSignal
}

/**
 * Compares an agent's list with the rows that refer to the agent.
 *
 * - A VM without a row is deleted if its removal is recorded ({@link ReconcileBrake}).
 * - A row without a VM becomes `failed`, unless the sandbox has a stored copy.
 * - A `creating` row is removed if its creator is gone and the agent does not know the sandbox.
 * - A row stays as it is if the agent cannot read the VM's record, and while its sandbox moves to another host.
 *
 * The list is exact at one sequence number of the log. The comparison waits until control has applied the log up to
 * there, and ignores rows that changed later. Control inserts a row before its VM exists, and reads the rows after the
 * list, so a VM that is just being created never appears without a row.
 *
 * @returns whether to reconcile again soon: recorded removals are left, or abandoned rows were removed whose VMs may
 * still appear
 */
export async function reconcile(from: Reconciliation, kinds: readonly AgentHooks[]): Promise<boolean> {
  const { pool, client, agentId, clusterId, log, signal } = from
  const requestId = randomUUID()
  const { cluster_id: obeyed = null } = await client.info(requestId)
  const brake = await ReconcileBrake.open(pool, agentId, obeyed !== null && obeyed !== clusterId)
  const [incarnation] = await databaseIncarnation(pool)
  const list = await client.list(requestId)
  await untilApplied(pool, agentId, list.last_seq, signal)
  const rows = new Map((await rowsOfAgent(pool, agentId, CREATE_TIMEOUT_MS / 1000)).map((row) => [row.id, row]))
  for (const vm of list.sandboxes) {
    const row = rows.get(vm.id)
    if (row === undefined || row.status === vm.status || vm.status === 'creating' || row.is_moving) continue
    await adoptStatus(pool, vm.id, agentId, list.last_seq, vm.status, vm.last_seq)
  }
  const withoutRow = list.sandboxes.filter(({ id }) => !rows.has(id))
  const moving = new Set((await movingAmong(pool, idsOf(withoutRow))).map(({ id }) => id))
  const strays = withoutRow.filter(({ id }) => !moving.has(id))
  const free = list.sandboxes.filter(({ id, move }) => move === undefined && rows.get(id)?.is_held === true)
  if (free.length > 0) await endStaleCopies(pool, agentId, idsOf(free))
  const left = list.sandboxes.flatMap(({ move }) => (move?.direction === 'leaving' ? [move.id] : [])).filter(isUuid)
  if (left.length > 0) await noteProven(pool, agentId, left, incarnation?.is ?? '')
  await endMoves(pool, agentId, client, list.sandboxes, requestId, log)
  for (const { id, workspace_id: workspaceId } of await brake.deletable('sandbox', strays)) {
    log.warn({ agent: agentId, sandbox: id }, 'VM of a removed row: deleting it')
    await orLog(log, { agent: agentId, sandbox: id }, client.remove(id, workspaceId, requestId))
  }
  let givenUp = 0
  const missing = withoutVm(rows, list)
  const copied = missing.filter((row) => row.is_held).map(({ id }) => id)
  if (copied.length > 0) await noteSourceLost(pool, agentId, copied)
  for (const row of missing.filter(({ is_held: isHeld }) => !isHeld)) {
    if (await settle(pool, agentId, list.last_seq, row, log)) givenUp += 1
  }
  const options = { pool, client, agentId, log, brake }
  for (const each of kinds) givenUp += (await each.reconcile?.(options, requestId)) ?? 0
  await brake.finish(log)
  for (const each of kinds) await each.resend?.(options, requestId)
  return givenUp > 0 || brake.isUnfinished
}

/** Waits until the rows follow an agent's log up to this number. @throws Error after some seconds */
export async function untilApplied(pool: pg.Pool, agentId: string, seq: number, cancelled: AbortSignal): Promise<void> {
  const deadline = Deadline.after(CATCH_UP_MS, `log of agent ${agentId} applied up to ${seq}`, cancelled)
  for (let ms: number = CATCH_UP_LOOK_MS.first; ; ms = Math.min(ms * 2, CATCH_UP_LOOK_MS.longest)) {
    const [agent] = await agentCursor(pool, agentId)
    if (agent !== undefined && agent.cursor >= seq) return
    deadline.throwIfOver()
    await delay(ms)
  }
}

function withoutVm(rows: ReadonlyMap<string, ReconcileRow>, list: AgentSandboxList): ReconcileRow[] {
  const known = new Set([...list.sandboxes.map(({ id }) => id), ...list.unreadable])
  return [...rows.values()].filter((row) => !known.has(row.id) && !row.is_moving)
}

const idsOf = (sandboxes: AgentSandboxList['sandboxes']) => sandboxes.map(({ id }) => id).filter(isUuid)

/** @returns whether an abandoned row was removed */
async function settle(
  pool: pg.Pool,
  agentId: string,
  listSeq: number,
  row: ReconcileRow,
  log: Logger,
): Promise<boolean> {
  if (row.status !== 'creating') {
    const [failed] = await failOrphan(pool, row.id, agentId, listSeq)
    if (failed) log.warn({ agent: agentId, sandbox: row.id, type: 'recover.orphaned' }, 'row without a VM: failed')
    return false
  }
  if (!row.is_abandoned) return false
  const [removed] = await removeAbandoned(pool, row.id, agentId)
  if (removed) log.warn({ agent: agentId, sandbox: row.id }, 'abandoned create removed')
  return removed !== undefined
}
