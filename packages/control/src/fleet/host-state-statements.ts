import type { HostLabels } from '@offshoot/contract/host-label'
import { statement } from '../platform/db/statement.ts'

interface NotedAgent {
  readonly id: string
  readonly is_cordoned: boolean
  readonly is_lost: boolean
  /** It is lost from now on, or heard again. */
  readonly is_new: boolean
  readonly labels: HostLabels
  readonly zone: string | null
}

/**
 * Notes which hosts this process hears, and which ones no process has heard for too long. The noted time of a host that
 * answers is at most a quarter of that old, so most calls change nothing. Rows that another transaction holds are left
 * for the next call.
 * `mayLose` is false while this process has not listened for that long: after an outage of control, no host is lost.
 * @returns the hosts that placement must know something of: those that are cordoned or lost, those that are heard again,
 * and those with labels or a zone
 */
export const noteHeard = statement<NotedAgent, [heard: readonly string[], lostAfterSeconds: number, mayLose: boolean]>(
  'note-heard-agents',
  `with due as (
     select id, id = any($1) as is_heard, lost_at is not null as was_lost from agents
     where retired_at is null and case when id = any($1)
       then lost_at is not null or seen_at < now() - make_interval(secs => $2::int / 4.0)
       else $3::boolean and lost_at is null and seen_at < now() - make_interval(secs => $2::int) end
     for no key update skip locked
   ), noted as (
     update agents a set seen_at = case when due.is_heard then now() else a.seen_at end,
       lost_at = case when due.is_heard then null else now() end
     from due where a.id = due.id
     returning a.id, a.lost_at is not null as is_lost, a.lost_at is not null or due.was_lost as is_new
   )
   select a.id, a.cordoned_at is not null as is_cordoned, coalesce(noted.is_lost, a.lost_at is not null) as is_lost,
     coalesce(noted.is_new, false) as is_new, a.labels, a.zone
   from agents a left join noted on noted.id = a.id
   where a.cordoned_at is not null or a.lost_at is not null or noted.is_new or a.labels <> '{}' or a.zone is not null`,
)

/** No row: the host is already cordoned, or gone. */
export const cordonAgent = statement<{ id: string }, [id: string]>(
  'cordon-agent',
  `update agents set cordoned_at = now() where id = $1 and retired_at is null and cordoned_at is null returning id`,
)

/** No row: the host is not cordoned, or gone. */
export const uncordonAgent = statement<{ id: string }, [id: string]>(
  'uncordon-agent',
  `update agents set cordoned_at = null where id = $1 and retired_at is null and cordoned_at is not null returning id`,
)

/**
 * Sets the labels and the zone of a host; each only if its parameter says so. No row: that changes nothing, or the host
 * is gone.
 */
export const describeAgent = statement<
  { labels: HostLabels; zone: string | null },
  [id: string, labels: string | null, hasZone: boolean, zone: string | null]
>(
  'describe-agent',
  `update agents set labels = coalesce($2::jsonb, labels), zone = case when $3::boolean then $4::text else zone end
   where id = $1 and retired_at is null and (labels, zone) is distinct from
     (coalesce($2::jsonb, labels), case when $3::boolean then $4::text else zone end)
   returning labels, zone`,
)

/** What a workspace requires of a host before control places a new object of it there. */
export interface PlacementRule {
  readonly workspace_id: string
  readonly required_labels: HostLabels
  /** `null`: any zone. */
  readonly required_zone: string | null
}

/** Those of workspaces that require something. */
export const placementRules = statement<PlacementRule, []>(
  'placement-rules',
  `select workspace_id, required_labels, required_zone from workspace_accounts
   where required_labels <> '{}' or required_zone is not null`,
)
