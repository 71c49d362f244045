import { hasNoCreator, isAlive } from '../../../platform/db/abandoned.ts'
import { statement } from '../../../platform/db/statement.ts'
import { isDraining } from '../../../fleet/drain-statements.ts'
import { DEPLOYMENT_COLUMNS, type DeploymentRow } from './deployment-row.ts'

/** Attempts of a deployment: one more if its process died. */
export const MAX_ATTEMPTS = 2
/** Seconds for a superseded version to finish its requests. */
export const DRAIN_SECONDS = 30
/** Superseded versions of an app that are kept hibernated. */
const KEPT_VERSIONS = 3

/** Serializes deployments of one app. No row: the app was deleted. */
export const lockApp = statement<{ id: string; active_deployment_id: string | null }, [appId: string]>(
  'lock-app',
  'select id, active_deployment_id from apps where id = $1 and deletion_due_at is null for update',
)

/** The newest deployment wins, so those still in the queue are not started. */
export const supersedeQueued = statement<never, [appId: string]>(
  'supersede-queued',
  `update app_deployments set status = 'superseded', error = 'a newer deploy took its place', finished_at = now()
   where app_id = $1 and status = 'queued'`,
)

export const insertDeployment = statement<
  DeploymentRow,
  [id: string, appId: string, gitRef: string, gitCommit: string | null, originId: string, port: number]
>(
  'insert-deployment',
  `insert into app_deployments as d (id, app_id, status, git_ref, git_commit, origin_id, port)
   values ($1, $2, 'queued', $3, $4, $5, $6) returning ${DEPLOYMENT_COLUMNS}`,
)

export const deploymentOfApp = statement<DeploymentRow, [id: string, appId: string]>(
  'deployment-of-app',
  `select ${DEPLOYMENT_COLUMNS} from app_deployments d where d.id = $1 and d.app_id = $2`,
)

/** The deployment of another build that was live before the current one. */
export const previousDeployment = statement<DeploymentRow, [appId: string]>(
  'previous-deployment',
  `select ${DEPLOYMENT_COLUMNS} from app_deployments d
   where d.app_id = $1 and d.was_live and d.status = 'superseded'
     and d.origin_id is distinct from (select a.origin_id from apps join app_deployments a on a.id = apps.active_deployment_id
       where apps.id = $1)
   order by d.number desc limit 1`,
)

/**
 * Claims queued deployments, and those whose process has ended, for the process with the number `creator`: one per app
 * at a time. Those that somebody waits for come first. The sandbox of an interrupted attempt becomes an orphan.
 */
export const claimDeployments = statement<DeploymentRow, [limit: number, creator: number]>(
  'claim-deployments',
  `with due as materialized (
     select d.id as due_id from app_deployments d join apps on apps.id = d.app_id
     where apps.deletion_due_at is null and ${isAlive('$2')}
       and (d.status = 'queued' and not exists (
           select from app_deployments o where o.app_id = d.app_id and o.status in ('building', 'deploying'))
         or d.status in ('building', 'deploying') and ${hasNoCreator('d')})
     order by d.cause is not null, d.number limit $1 for update of apps, d skip locked
   )
   update app_deployments d set status = 'building', creator = $2, attempts = attempts + 1, sandbox_id = null,
     started_at = coalesce(started_at, now())
   from due where d.id = due_id returning ${DEPLOYMENT_COLUMNS}`,
)

export const hasOpenDeployments = statement<{ found: boolean }, []>(
  'has-open-deployments',
  `select exists (select from app_deployments where status in ('queued', 'building', 'deploying')) as found`,
)

const MINE = `d.id = $1 and d.creator = $2 and d.status in ('building', 'deploying') and not d.is_cancelled
     and exists (select from apps where apps.id = d.app_id and apps.deletion_due_at is null)`

/** Returns those of the given deployments that are still wanted and belong to this process. */
export const stillWanted = statement<{ id: string }, [ids: readonly string[], creator: number]>(
  'deployments-still-wanted',
  `select d.id from app_deployments d join apps on apps.id = d.app_id
   where d.id = any($1) and d.creator = $2 and d.status in ('building', 'deploying') and not d.is_cancelled
     and apps.deletion_due_at is null`,
)

/**
 * Stores the sandbox's id before the sandbox is created. No row: the deployment is no longer wanted, or belongs to
 * another process.
 */
export const nameSandbox = statement<{ id: string }, [id: string, creator: number, sandboxId: string]>(
  'name-deployment-sandbox',
  `update app_deployments d set sandbox_id = $3 where ${MINE} returning id`,
)

/**
 * Takes over the hibernated sandbox of the same build. No row: there is none, or its host is lost or drained.
 */
export const takeSandbox = statement<{ sandbox_id: string; port: number }, [id: string, creator: number]>(
  'take-deployment-sandbox',
  `with kept as (
     select k.id as kept_id, k.sandbox_id as kept_sandbox, k.port as kept_port, k.is_sticky as kept_is_sticky
     from app_deployments k
     join app_deployments o on o.id = $1 and o.origin_id = k.origin_id and k.id <> o.id
     join sandboxes s on s.id = k.sandbox_id and s.status in ('running', 'hibernated')
     join agents h on h.id = s.agent_id and h.lost_at is null and not ${isDraining('h')}
     where k.status = 'superseded' order by k.number desc limit 1 for update of k
   ), left_behind as (
     update app_deployments k set sandbox_id = null, drain_until = null from kept where k.id = kept_id
   )
   update app_deployments d set sandbox_id = kept_sandbox, port = kept_port, is_sticky = kept_is_sticky
   from kept where ${MINE}
   returning d.sandbox_id, d.port`,
  { notNull: ['sandbox_id'] },
)

export const setCommit = statement<{ id: string }, [id: string, creator: number, commit: string]>(
  'set-deployment-commit',
  `update app_deployments d set git_commit = $3 where ${MINE} returning id`,
)

/** As set in the repository. */
export const setSticky = statement<{ id: string }, [id: string, creator: number, isSticky: boolean]>(
  'set-deployment-sticky',
  `update app_deployments d set is_sticky = $3 where ${MINE} returning id`,
)

export const setDeploying = statement<{ id: string }, [id: string, creator: number]>(
  'set-deploying',
  `update app_deployments d set status = 'deploying' where ${MINE} returning id`,
)

/** Its sandbox becomes an orphan. */
export const failDeployment = statement<{ id: string }, [id: string, creator: number, error: string]>(
  'fail-deployment',
  `update app_deployments d set status = 'failed', error = case when is_cancelled then 'cancelled' else $3 end,
     finished_at = now(), sandbox_id = null
   where d.id = $1 and d.creator = $2 and d.status in ('building', 'deploying') returning id`,
)

/** Call it in one transaction with {@link supersedeActive} and {@link activate}. */
export const setLive = statement<{ app_id: string; agent_id: string | null }, [id: string, creator: number]>(
  'set-live',
  `update app_deployments d set status = 'live', was_live = true, finished_at = now() where ${MINE}
   returning app_id, (select s.agent_id from sandboxes s where s.id = d.sandbox_id) as agent_id`,
)

export const supersedeActive = statement<never, [appId: string, id: string]>(
  'supersede-active',
  `update app_deployments d set status = 'superseded', drain_until = now() + interval '${DRAIN_SECONDS} seconds'
   where d.app_id = $1 and d.status = 'live' and d.id <> $2`,
)

export const activate = statement<never, [appId: string, id: string]>(
  'activate-deployment',
  'update apps set active_deployment_id = $2 where id = $1',
)

/** Ends a queued deployment at once. For a running one it sets a mark, which its process reads. */
export const cancelDeployment = statement<DeploymentRow, [id: string]>(
  'cancel-deployment',
  `update app_deployments d set is_cancelled = true,
     status = case when d.status = 'queued' then 'failed' else d.status end,
     error = case when d.status = 'queued' then 'cancelled' else d.error end,
     finished_at = case when d.status = 'queued' then now() else d.finished_at end
   where d.id = $1 and d.status in ('queued', 'building', 'deploying') returning ${DEPLOYMENT_COLUMNS}`,
)

/** SQL: the build of the superseded version `d` is live again, in another sandbox. */
const IS_REPLACED = `exists (select from app_deployments n
     where n.app_id = d.app_id and n.origin_id = d.origin_id and n.status = 'live')`

export interface DrainingVersion extends DeploymentRow {
  /** It had its time to finish its requests. */
  readonly is_over: boolean
  /** Its build is live again in another sandbox, so nothing needs this one any more. */
  readonly is_replaced: boolean
}

/** Superseded versions that may still be answering requests: a page of them, by id. */
export const draining = statement<DrainingVersion, [afterId: string, limit: number]>(
  'draining-deployments',
  `select ${DEPLOYMENT_COLUMNS}, d.drain_until <= now() as is_over, ${IS_REPLACED} as is_replaced from app_deployments d
   where d.drain_until is not null and d.status = 'superseded' and d.id > $1 order by d.id limit $2`,
)

export const setDrained = statement<never, [id: string]>(
  'set-drained',
  `update app_deployments set drain_until = null where id = $1 and status = 'superseded'`,
)

/**
 * Releases the sandboxes of versions older than the kept ones, and of builds that are live in another sandbox. They
 * become orphans.
 */
export const letOldVersionsGo = statement<never, []>(
  'let-old-versions-go',
  `update app_deployments d set sandbox_id = null, drain_until = null
   where d.sandbox_id is not null and d.status = 'superseded' and d.drain_until is null
     and (${IS_REPLACED} or (select count(*) from app_deployments n where n.app_id = d.app_id and n.status = 'superseded'
       and n.sandbox_id is not null and n.number > d.number) >= ${KEPT_VERSIONS})`,
)
