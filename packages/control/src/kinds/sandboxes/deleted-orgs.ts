import { setTimeout as delay } from 'node:timers/promises'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type { Remover } from '../../fleet/agent-or-retired.ts'
import { serviceActor } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import { transaction } from '../../platform/db/transaction.ts'
import type { RowTask } from '../../platform/jobs/task.ts'
import { removeSnapshot } from './snapshots/remove-snapshot.ts'
import { accountOf } from '../orgs/identity/account-statements.ts'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import { removeVolume } from '../volumes/remove-volume.ts'
import {
  deletedOrg,
  deletedOrgIds,
  type DeletedOrgRow,
  endSandboxes,
  leftInOrg,
  removeOrg,
  snapshotsToEnd,
  volumesToEnd,
} from './deleted-orgs-statements.ts'

/** Milliseconds for which one round waits for the deletions. The job's next attempt goes on. */
const PATIENCE_MS = 60_000
/** Milliseconds between two polls. */
const LOOK_MS = 200

type OrgRemover = Remover & Pick<SandboxesContext, 'payments'>

/**
 * Empties deleted workspaces and then removes them; one process handles each workspace. Every round marks the current
 * objects again, so that it also catches an object whose creation was in progress when the workspace was deleted. The
 * workspace's row cannot go while an object refers to it. If an agent is unreachable, the job is retried until it is
 * back.
 */
export function emptiedOrgs(remover: OrgRemover): RowTask {
  const { pool } = remover.database
  return {
    name: 'empty-org',
    due: (limit) => deletedOrgIds(pool, limit),
    async work({ id, requestId, signal }) {
      const [row] = await deletedOrg(pool, id)
      if (row !== undefined) await empty(remover, row, requestId, signal)
    },
  }
}

async function empty(
  remover: OrgRemover,
  { id, name }: DeletedOrgRow,
  requestId: string,
  signal: AbortSignal,
): Promise<void> {
  const { pool } = remover.database
  const endsAtMs = performance.now() + PATIENCE_MS
  for (;;) {
    await endSandboxes(pool, id)
    for (const snapshot of await snapshotsToEnd(pool, id)) await removeSnapshot(remover, snapshot, requestId)
    for (const volume of await volumesToEnd(pool, id)) await removeVolume(remover, volume, requestId)
    const [left] = await leftInOrg(pool, id)
    if (left?.count === 0) break
    if (performance.now() > endsAtMs)
      throw new Error(`workspace ${id} still holds ${left?.count} sandboxes, snapshots and volumes`)
    await delay(LOOK_MS, undefined, { signal })
  }
  await endPayments(remover, id)
  await transaction(pool, async (client) => {
    const [removed] = await removeOrg(client, id)
    if (removed === undefined) return
    const service = serviceActor(requestId)
    await recordAuditEvent(client, service, { workspaceId: id, action: 'org.emptied', target: id, details: { name } })
  })
}

/**
 * Cancels the workspace's subscriptions. If that fails, or if this process knows no payment provider, the workspace is kept,
 * and the job is retried: a removed workspace would go on paying.
 * @throws ApiError 502, or Error
 */
async function endPayments({ database, payments }: OrgRemover, workspaceId: WorkspaceId): Promise<void> {
  const [account] = await accountOf(database.pool, workspaceId)
  const customer = account?.customer_id
  if (customer === null || customer === undefined) return
  if (payments === null)
    throw new Error(`customer ${customer} may have subscriptions, and no payment provider is configured`)
  await payments.cancelSubscriptions(customer)
}
