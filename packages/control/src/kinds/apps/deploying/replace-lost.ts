import type { DeploymentId } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { AppRow } from '../model/app-row.ts'
import { statement } from '../../../platform/db/statement.ts'
import { queueDeployment } from '../deployments/queue-deployment.ts'

interface LostRow extends Pick<AppRow, 'id' | 'port'> {
  readonly git_ref: string
  readonly git_commit: string | null
  readonly origin_id: DeploymentId
}

/**
 * Apps with a live version whose sandbox is lost: its VM died, or the sandbox was deleted. Skips apps with a deployment
 * in progress, and those for which the same build was already tried again. So a version that cannot be rebuilt is tried
 * once, not for ever.
 */
export const lostVersions = statement<LostRow, [limit: number]>(
  'lost-versions',
  `select a.id, a.port, d.git_ref, d.git_commit, d.origin_id from apps a join app_deployments d on d.id = a.active_deployment_id
   where a.deletion_due_at is null and d.finished_at < now() - interval '5 seconds'
     and not exists (select from sandboxes s where s.id = d.sandbox_id and s.status <> 'failed')
     and not exists (select from app_deployments n where n.app_id = a.id and n.number > d.number
       and (n.origin_id = d.origin_id or n.status in ('queued', 'building', 'deploying')))
   limit $1`,
)

export const hasLiveVersions = statement<{ found: boolean }, []>(
  'has-live-versions',
  'select exists (select from apps where active_deployment_id is not null) as found',
)

/** Apps per round. */
const AT_ONCE = 20

/**
 * Deploys the live build again, like a rollback to it. If two processes find the same app, both queue a deployment, and
 * the newer one wins.
 * @returns whether there are live versions
 */
export async function replaceLostVersions(pool: pg.Pool, log: Logger): Promise<boolean> {
  for (const { git_ref: gitRef, git_commit: gitCommit, origin_id: originId, ...app } of await lostVersions(
    pool,
    AT_ONCE,
  )) {
    log.warn({ app: app.id }, 'the sandbox of a live version is gone: it is built again')
    await queueDeployment(pool, app, { gitRef, gitCommit, originId })
  }
  return (await hasLiveVersions(pool))[0]?.found === true
}
