import type { AppId, DeploymentId } from '@offshoot/contract/ids'
import { isDraining } from '../../../fleet/drain-statements.ts'
import { statement } from '../../../platform/db/statement.ts'
import type { DeploymentRow, ReplacementCause } from '../model/deployment-row.ts'

/** Attempts to replace a version of a lost host. The pauses between them double from {@link FIRST_PAUSE_SECONDS}. */
const MAX_LOST_ATTEMPTS = 10
const FIRST_PAUSE_SECONDS = 15
/** Seconds for which a version that has just gone live is left alone. */
const YOUNG_SECONDS = 5

/** SQL: why the version `d`, with the sandbox `s` on the host `h`, is to be replaced; null: it is not. */
const CAUSE = `case when h.lost_at is not null or h.retired_at is not null then 'host_lost'
  when s.id is null or s.status = 'failed' then 'sandbox_lost'
  when ${isDraining('h')} then 'host_drained' end`
const PLACE = `left join sandboxes s on s.id = d.sandbox_id left join agents h on h.id = s.agent_id`
const IS_DEPLOYED = `exists (select from app_deployments o
  where o.app_id = a.id and o.status in ('queued', 'building', 'deploying'))`
/** SQL: the workspace may create nothing. */
const IS_REFUSED = `exists (select from workspace_accounts w where w.workspace_id = a.workspace_id
  and (w.exhausted_until > now() or w.plan_source = 'subscription' and w.subscription_status not in ('active', 'trialing')))`

export interface ReplaceableVersion {
  readonly id: AppId
  readonly deployment_id: DeploymentId
  readonly cause: ReplacementCause
}

/**
 * Apps whose live version is to be replaced, those that visitors miss first. Skips apps with a deployment in progress. A
 * version that cannot be built is not built for ever: one attempt if its VM is gone, one in each drain of its host, and
 * {@link MAX_LOST_ATTEMPTS} with growing pauses if its host is lost.
 * @param hasRoom whether a host can take an app. @param limit of such deployments that are not over
 */
export const replaceableVersions = statement<ReplaceableVersion, [limit: number, hasRoom: boolean]>(
  'replaceable-versions',
  `select a.id, d.id as deployment_id, why.cause from apps a
     join app_deployments d on d.id = a.active_deployment_id ${PLACE}
     cross join lateral (select ${CAUSE} as cause) why
     cross join lateral (
       select count(*) as attempts, max(n.finished_at) as last_at from app_deployments n
       where n.app_id = a.id and n.number > d.number and n.origin_id = d.origin_id and n.status = 'failed'
         and (why.cause <> 'host_drained' or n.created_at >= h.drain_begun_at)) tried
   where a.deletion_due_at is null and d.finished_at < now() - interval '${YOUNG_SECONDS} seconds'
     and why.cause is not null and not ${IS_DEPLOYED}
     and case when tried.attempts = 0 then true when why.cause = 'host_lost' then tried.attempts < ${MAX_LOST_ATTEMPTS}
       and tried.last_at < now() - make_interval(secs => ${FIRST_PAUSE_SECONDS} * 2 ^ (tried.attempts - 1)) else false end
     and ($2::boolean or why.cause = 'sandbox_lost')
     and (why.cause <> 'host_lost' or not ${IS_REFUSED})
     and (why.cause <> 'host_drained' or a.unplaced_at is null or a.unplaced_at < h.drain_begun_at)
   order by why.cause = 'host_drained', a.pull_number is not null, s.status is distinct from 'running', a.id
   limit greatest(0, $1 - (select count(*) from app_deployments
     where cause is not null and status in ('queued', 'building', 'deploying')))`,
)

/**
 * Queues a deployment of the live build. Call it after `lockApp`, in the same transaction. No row: another version is
 * live, or another deployment waits.
 */
export const queueReplacement = statement<
  Pick<DeploymentRow, 'id' | 'from_agent'>,
  [id: string, appId: string, deploymentId: string, cause: ReplacementCause]
>(
  'queue-replacement',
  `insert into app_deployments (id, app_id, status, git_ref, git_commit, origin_id, port, cause, from_agent)
   select $1, a.id, 'queued', d.git_ref, d.git_commit, d.origin_id, a.port, $4,
     (select s.agent_id from sandboxes s where s.id = d.sandbox_id)
   from apps a join app_deployments d on d.id = a.active_deployment_id
   where a.id = $2 and d.id = $3 and not ${IS_DEPLOYED} returning id, from_agent`,
)

/** No row: the live version of the app can stay where it is, because its host is back or is not drained any more. */
export const stillToReplace = statement<{ id: string }, [appId: string]>(
  'still-to-replace',
  `select a.id from apps a join app_deployments d on d.id = a.active_deployment_id ${PLACE}
   where a.id = $1 and ${CAUSE} is not null`,
)

export const dropReplacement = statement<never, [id: string, creator: number]>(
  'drop-replacement',
  `update app_deployments set status = 'superseded', error = 'the live version can stay on its host', finished_at = now()
   where id = $1 and creator = $2 and status = 'building' and cause is not null`,
)

/** No host can take the apps of hosts that are drained now, so they stay. */
export const noteUnplacedApps = statement<{ id: string }, []>(
  'note-unplaced-apps',
  `update apps a set unplaced_at = now() from app_deployments d, sandboxes s, agents h
   where d.id = a.active_deployment_id and s.id = d.sandbox_id and h.id = s.agent_id and ${isDraining('h')}
     and h.retired_at is null and (a.unplaced_at is null or a.unplaced_at < h.drain_begun_at) and not ${IS_DEPLOYED}
   returning a.id`,
)

/** Releases the sandboxes of old versions on hosts that are drained, which become orphans. */
export const releaseDrainedVersions = statement<{ id: string }, []>(
  'release-drained-versions',
  `update app_deployments d set sandbox_id = null from sandboxes s, agents h
   where s.id = d.sandbox_id and h.id = s.agent_id and ${isDraining('h')} and d.status = 'superseded'
     and d.drain_until is null returning d.id`,
)

/** Takes installed trees on hosts that are drained from their apps. */
export const disownDrainedTrees = statement<never, []>(
  'disown-drained-trees',
  `update app_trees t set app_id = null from agents h
   where h.id = t.agent_id and t.app_id is not null and ${isDraining('h')}`,
)

export const hasLiveVersions = statement<{ found: boolean }, []>(
  'has-live-versions',
  'select exists (select from apps where active_deployment_id is not null) as found',
)
