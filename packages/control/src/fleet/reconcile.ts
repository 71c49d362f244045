import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentSandboxList } from '@offshoot/contract/agent-api'
import { Deadline } from '@offshoot/kit/deadline'
import type pg from 'pg'
import type { Logger } from 'pino'
import { CREATE_TIMEOUT_MS } from './agent-client.ts'
import { agentCursor } from './agent-statements.ts'
import type { AgentHooks, ReconcileOptions } from './agent-hooks.ts'
import { adoptStatus, failOrphan, type ReconcileRow, removeAbandoned, rowsOfAgent } from './reconcile-statements.ts'

/** Milliseconds for the log to be applied up to the list. */
const CATCH_UP_MS = 10_000
const CATCH_UP_LOOK_MS = 20

/**
 * Compares an agent's list with the rows that name it:
 * a VM without a row is deleted; a row without a VM becomes `failed`; a row still `creating` whose creator is gone and
 * of which the agent knows nothing is removed. A row whose VM's record the agent cannot read stays as it is.
 *
 * The list is true at a numbered point of the log. The comparison waits until that point has been applied, and leaves
 * alone whatever changed after it; a row is there before its VM and is read after the list, so that no VM that
 * is just being made looks like one without a row.
 *
 * @returns how many rows in the making were given up: what they stood for may still come to be
 */
export async function reconcile(options: ReconcileOptions, kinds: readonly AgentHooks[]): Promise<number> {
  const { pool, client, agentId, log, signal } = options
  const requestId = randomUUID()
  const list = await client.list(requestId)
  await untilApplied(pool, agentId, list.last_seq, signal)
  const rows = new Map((await rowsOfAgent(pool, agentId, CREATE_TIMEOUT_MS / 1000)).map((row) => [row.id, row]))
  for (const vm of list.sandboxes) {
    const row = rows.get(vm.id)
    if (row === undefined) {
      log.warn({ agent: agentId, sandbox: vm.id }, 'VM without a row: deleting it')
      await client.remove(vm.id, vm.workspace_id, requestId)
    } else if (row.status !== vm.status && vm.status !== 'creating') {
      await adoptStatus(pool, vm.id, agentId, list.last_seq, vm.status, vm.last_seq)
    }
  }
  let givenUp = 0
  for (const row of withoutVm(rows, list)) {
    if (await settle(pool, agentId, list.last_seq, row, log)) givenUp += 1
  }
  for (const each of kinds) givenUp += (await each.reconcile?.(options, requestId)) ?? 0
  return givenUp
}

async function untilApplied(pool: pg.Pool, agentId: string, seq: number, cancelled: AbortSignal): Promise<void> {
  const deadline = Deadline.after(CATCH_UP_MS, `log of agent ${agentId} applied up to ${seq}`, cancelled)
  for (;;) {
    const [agent] = await agentCursor(pool, agentId)
    if (agent !== undefined && agent.cursor >= seq) return
    deadline.throwIfOver()
    await delay(CATCH_UP_LOOK_MS)
  }
}

function withoutVm(rows: ReadonlyMap<string, ReconcileRow>, list: AgentSandboxList): ReconcileRow[] {
  const known = new Set([...list.sandboxes.map(({ id }) => id), ...list.unreadable])
  return [...rows.values()].filter((row) => !known.has(row.id))
}

/** @returns whether a row in the making was given up */
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
  if (removed) log.warn({ agent: agentId, sandbox: row.id }, 'create that nobody works on: removed')
  return removed !== undefined
}
