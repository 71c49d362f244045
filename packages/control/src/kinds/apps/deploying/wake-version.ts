import { randomUUID } from 'node:crypto'
import { move } from '../../../fleet/sandbox-calls.ts'
import { setDeploying, takeSandbox } from '../model/deployment-statements.ts'
import { sandboxLimitsOf } from '../../billing/limits/sandbox-limits.ts'
import { liveAgent } from '../../../fleet/live-agent.ts'
import { sandboxById } from '../../sandboxes/model/sandbox-statements.ts'
import { GuestShell } from '../../sandboxes/guest-shell.ts'
import { untilHealthy } from './health.ts'
import { type Deploying, mustBeOurs } from '../project/deploying.ts'

/** Milliseconds until a version is healthy that was healthy before it was hibernated. */
const HEALTHY_MS = 30_000

/**
 * Wakes the hibernated sandbox of the same build and waits until it is healthy. `null` if there is none any more; then
 * it must be built again.
 */
export async function wakeVersion({
  control,
  app,
  row,
  creator,
  log,
  deadline,
}: Deploying): Promise<GuestShell | null> {
  const { pool } = control.database
  const [taken] = await takeSandbox(pool, row.id, creator)
  if (taken === undefined) return null
  const [sandbox] = await sandboxById(pool, taken.sandbox_id)
  if (sandbox === undefined) return null
  log.say('==> wake')
  await mustBeOurs(setDeploying(pool, row.id, creator))
  const shell = new GuestShell(liveAgent(control, sandbox), sandbox.id, app.workspace_id, randomUUID())
  const subject = { id: sandbox.id, workspaceId: app.workspace_id, requestId: shell.requestId }
  try {
    await move(shell.client, subject, 'wake', { limits: await sandboxLimitsOf(control, app.workspace_id) })
    await untilHealthy(shell, taken.port, deadline.within(HEALTHY_MS, 'wake'))
    return shell
  } catch (error) {
    deadline.throwIfOver()
    log.say(`it could not be woken: ${(error as Error).message}; it is built again`)
    return null
  }
}
