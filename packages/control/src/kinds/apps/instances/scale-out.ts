import { randomUUID } from 'node:crypto'
import { Deadline } from '@offshoot/kit/deadline'
import type { AppsContext } from '../model/apps-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { deploymentOfApp, lockApp } from '../model/deployment-statements.ts'
import { GuestShell } from '../../sandboxes/guest-shell.ts'
import { untilHealthy } from '../deploying/health.ts'
import { forkSandbox } from '../../sandboxes/forks/fork-sandbox.ts'
import { liveAgent } from '../../../fleet/live-agent.ts'
import { sandboxById } from '../../sandboxes/model/sandbox-statements.ts'
import {
  claimInstance,
  forgetInstance,
  type InstanceRow,
  noteNeeded,
  setServing,
} from '../model/instance-statements.ts'

/** Milliseconds until a fork of a healthy instance is healthy. */
const HEALTHY_MS = 5_000
/** Good answers that a fork of a healthy instance needs. */
const PASSES = 1

/**
 * Creates instances one after the other until the app has as many as are needed, or its maximum.
 * @throws if an instance could not be created
 */
export async function scaleOut(control: AppsContext, appId: string, needed: number): Promise<void> {
  const { pool } = control.database
  await noteNeeded(pool, appId, needed)
  for (;;) {
    const claimed = await claim(control, appId, needed)
    if (claimed === undefined) return
    try {
      await start(control, claimed)
    } catch (error) {
      await forgetInstance(pool, claimed.id)
      throw error
    }
  }
}

function claim(control: AppsContext, appId: string, needed: number): Promise<InstanceRow | undefined> {
  return transaction(control.database.pool, async (client) => {
    await lockApp(client, appId)
    const [row] = await claimInstance(client, randomUUID(), appId, control.lock.number, needed)
    return row
  })
}

/** The instance's row names the sandbox before it is created, because a sandbox that no row names is deleted. */
async function start(
  control: AppsContext,
  { id, app_id: appId, deployment_id: deploymentId }: InstanceRow,
): Promise<void> {
  const { pool } = control.database
  const requestId = randomUUID()
  const [deployment] = await deploymentOfApp(pool, deploymentId, appId)
  const [parent] = deployment?.sandbox_id == null ? [] : await sandboxById(pool, deployment.sandbox_id)
  if (deployment === undefined || parent === undefined) throw new Error(`deployment ${deploymentId} has no sandbox`)
  const metadata = { app_id: appId, deployment_id: deploymentId }
  const manager = { by: 'app', id: appId } as const
  const { children } = await forkSandbox(control, { parent, count: null, metadata, ids: [id], manager }, requestId)
  const shell = new GuestShell(liveAgent(control, children[0]), id, parent.workspace_id, requestId)
  await untilHealthy(shell, deployment.port, Deadline.after(HEALTHY_MS, `health of ${id}`), { wanted: PASSES })
  const [serving] = await setServing(pool, id)
  if (serving === undefined) await forgetInstance(pool, id)
}
