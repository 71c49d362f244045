import { randomUUID } from 'node:crypto'
import { serviceActor } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import type { AppRow } from '../model/app-row.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { DeploymentRow } from '../model/deployment-row.ts'
import { activate, lockApp, setLive, supersedeActive } from '../model/deployment-statements.ts'
import { drainOthers } from '../model/instance-statements.ts'
import { NoLongerWanted } from '../project/deploy-failure.ts'

/**
 * Switches from the old version to the new one in one transaction, so that exactly one deployment is live at every
 * moment. The old version finishes its requests and is then hibernated; its further instances end.
 * @throws NoLongerWanted if the deployment was cancelled, or its app deleted, just before
 */
export async function makeLive(
  { database }: AppsContext,
  { id: appId, workspace_id: workspaceId }: Pick<AppRow, 'id' | 'workspace_id'>,
  { id, cause, from_agent: from }: DeploymentRow,
  creator: number,
): Promise<void> {
  await transaction(database.pool, async (client) => {
    const [app] = await lockApp(client, appId)
    if (app === undefined) throw new NoLongerWanted()
    await supersedeActive(client, appId, id)
    const [live] = await setLive(client, id, creator)
    if (live === undefined) throw new NoLongerWanted()
    await activate(client, appId, id)
    await drainOthers(client, appId, id)
    if (cause === null) return
    await recordAuditEvent(client, serviceActor(randomUUID()), {
      workspaceId,
      action: cause === 'host_drained' ? 'app.moved' : 'app.recovered',
      target: appId,
      details: { deployment_id: id, cause, from, to: live.agent_id },
    })
  })
}
