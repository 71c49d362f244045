import type { HostDrain } from '@offshoot/contract/host'
import { statement } from '../platform/db/statement.ts'
import { MOVABLE } from './move-statements.ts'
import { FAILED_ARTIFACT, IS_ARTIFACT_MOVING, IS_ARTIFACT_TRIED, MOVABLE_ARTIFACT } from './artifact-move-statements.ts'

/** Hosts that one sandbox is offered to in one drain. */
const MAX_ATTEMPTS = 3

/** SQL: an operator drains the host, and not everything has been tried yet. */
export const isDraining = (agent: string): string =>
  `(${agent}.drain_begun_at is not null and ${agent}.drain_ended_at is null)`

/**
 * Begins to drain a host, and cordons it. No row: it is drained already, or gone. A drain that has ended begins anew, and
 * tries again what failed.
 */
export const beginDrain = statement<{ id: string }, [id: string]>(
  'begin-drain',
  `update agents set drain_begun_at = now(), drain_ended_at = null, cordoned_at = coalesce(cordoned_at, now())
   where id = $1 and retired_at is null and (drain_begun_at is null or drain_ended_at is not null) returning id`,
)

/** No row: the host is not drained. */
export const cancelDrain = statement<{ id: string }, [id: string]>(
  'cancel-drain',
  `update agents set drain_begun_at = null, drain_ended_at = null
   where id = $1 and drain_begun_at is not null returning id`,
)

export interface DrainingHost {
  readonly id: string
  readonly begun_at: Date
  /** Moves of sandboxes from it that are under way. */
  readonly open: number
  /** Moves of artifacts from it that are under way. */
  readonly open_artifacts: number
  /** Sandboxes, databases, snapshots and templates there that are just being made. */
  readonly creating: number
  /** Sandboxes there of apps that leave the host. */
  readonly of_apps: number
}

/** SQL: the live versions `v` of apps `p` on the host `a`. */
const LIVE_VERSIONS = `from apps p join app_deployments v on v.id = p.active_deployment_id
  join sandboxes vs on vs.id = v.sandbox_id and vs.status <> 'failed'`
const IS_THERE = 'vs.agent_id = a.id'
/** SQL: a deployment of the app `p` is under way or waits. */
const IS_DEPLOYED = `exists (select from app_deployments o
  where o.app_id = p.id and o.status in ('queued', 'building', 'deploying'))`
/** SQL: the attempts of this drain to build the live version `v` of the app `p` on another host that have failed. */
const FAILED_VERSIONS = `from app_deployments n where n.app_id = p.id and n.number > v.number and n.cause = 'host_drained'
  and n.status = 'failed' and n.created_at >= a.drain_begun_at`
/** SQL: another attempt makes no sense in this drain. */
const IS_STUCK = `(not ${IS_DEPLOYED} and (p.unplaced_at >= a.drain_begun_at or exists (select ${FAILED_VERSIONS})) is true)`

export const drainingHosts = statement<DrainingHost, []>(
  'draining-hosts',
  `select a.id, a.drain_begun_at as begun_at,
     (select count(*)::int from sandbox_moves m where m.from_agent = a.id and m.finished_at is null) as open,
     (select count(*)::int from artifact_moves m where m.from_agent = a.id and m.finished_at is null) as open_artifacts,
     (select count(*)::int from sandboxes s where s.agent_id = a.id and (s.status = 'creating'
        or exists (select from databases d where d.id = s.id and d.status = 'provisioning')))
       + (select count(*)::int from snapshots s where s.agent_id = a.id and s.status = 'creating')
       + (select count(*)::int from template_builds b where b.agent_id = a.id and b.ended_at is null) as creating,
     (select count(*)::int from sandboxes s where s.agent_id = a.id and s.managed_by = 'app' and s.status <> 'failed'
        and not exists (select ${LIVE_VERSIONS} where ${IS_THERE} and p.id = s.managed_id and ${IS_STUCK})) as of_apps
   from agents a where ${isDraining('a')} and a.retired_at is null`,
  { notNull: ['begun_at'] },
)

/** SQL: the attempts of this drain to move the sandbox `s` from the host `a` that have failed. */
const FAILED = `from sandbox_moves m where m.sandbox_id = s.id and m.from_agent = a.id and m.state = 'failed'
  and m.created_at >= a.drain_begun_at`
const IS_OPEN = 'exists (select from sandbox_moves m where m.sandbox_id = s.id and m.finished_at is null)'
/** SQL: another attempt makes no sense in this drain. */
const IS_TRIED = `(select count(*) >= ${MAX_ATTEMPTS} or bool_or(m.is_final or m.to_agent is null) ${FAILED}) is true`

export interface DrainableSandbox {
  readonly id: string
  readonly workspace_id: string
  readonly template: string
  /** Hosts that could not take it, or still have a copy. */
  readonly tried: string[]
}

/** The next sandboxes to move from a host, those that are hibernated first. */
export const drainableSandboxes = statement<DrainableSandbox, [agentId: string, limit: number]>(
  'drainable-sandboxes',
  `select s.id, s.workspace_id, s.template, array(
       select m.to_agent from sandbox_moves m where m.sandbox_id = s.id and m.to_agent is not null
         and (m.left_behind is not null or (m.state = 'failed' and m.from_agent = a.id
           and m.created_at >= a.drain_begun_at))) as tried
   from sandboxes s join agents a on a.id = s.agent_id
   where a.id = $1 and ${MOVABLE} and not ${IS_OPEN} and not ${IS_TRIED}
   order by s.status = 'hibernated' desc, s.id limit $2`,
)

/** No row: the drain was cancelled, or began anew. */
export const endDrain = statement<{ id: string }, [id: string, begunAt: Date]>(
  'end-drain',
  `update agents set drain_ended_at = now()
   where id = $1 and drain_begun_at = $2 and drain_ended_at is null returning id`,
)

/** How far the drain of a host is. No row: it is not drained. */
export const drainProgress = statement<
  { moving: number; waiting: number; moved: number; failed: number },
  [agentId: string]
>(
  'drain-progress',
  `select (select count(*)::int from sandbox_moves m where m.from_agent = a.id and m.finished_at is null)
       + (select count(*)::int ${LIVE_VERSIONS} where ${IS_THERE} and ${IS_DEPLOYED})
       + (select count(*)::int from artifact_moves m where m.from_agent = a.id and m.finished_at is null) as moving,
     (select count(*)::int from sandboxes s where s.agent_id = a.id and ${MOVABLE} and not ${IS_OPEN}
        and not ${IS_TRIED})
       + (select count(*)::int ${LIVE_VERSIONS} where ${IS_THERE} and not ${IS_DEPLOYED} and not ${IS_STUCK})
       + (select count(*)::int from artifacts o where o.agent_id = a.id and ${MOVABLE_ARTIFACT}
        and not ${IS_ARTIFACT_MOVING} and not ${IS_ARTIFACT_TRIED}) as waiting,
     (select count(*)::int from sandbox_moves m where m.from_agent = a.id and m.state = 'done'
        and m.created_at >= a.drain_begun_at)
       + (select count(*)::int from app_deployments n where n.from_agent = a.id and n.cause = 'host_drained' and n.was_live
        and n.created_at >= a.drain_begun_at)
       + (select count(*)::int from artifact_moves m where m.from_agent = a.id and m.state = 'done'
        and m.created_at >= a.drain_begun_at) as moved,
     (select count(*)::int from sandboxes s where s.agent_id = a.id and ${MOVABLE} and not ${IS_OPEN}
        and ${IS_TRIED})
       + (select count(*)::int ${LIVE_VERSIONS} where ${IS_THERE} and ${IS_STUCK})
       + (select count(*)::int from artifacts o where o.agent_id = a.id and ${MOVABLE_ARTIFACT}
        and not ${IS_ARTIFACT_MOVING} and ${IS_ARTIFACT_TRIED}) as failed
   from agents a where a.id = $1 and a.drain_begun_at is not null`,
)

interface StayingObject {
  readonly kind: HostDrain['stays'][number]['kind']
  readonly id: string
  readonly workspace_id: string
  readonly reason: string
}

/** What cannot move from a host that is drained, or could not: the first of them, and how many there are. */
export const stayingObjects = statement<StayingObject & { readonly total: number }, [agentId: string, limit: number]>(
  'staying-objects',
  `with staying (kind, id, workspace_id, reason) as (
     select coalesce(s.managed_by, 'sandbox'), s.id::text, s.workspace_id, (select m.reason ${FAILED} order by m.created_at desc limit 1)
     from sandboxes s join agents a on a.id = s.agent_id
     where a.id = $1 and ${MOVABLE} and not ${IS_OPEN} and ${IS_TRIED}
     union all
     select 'sandbox', id::text, workspace_id, 'it has a volume' from sandboxes
     where agent_id = $1 and managed_by is null and volumes <> '[]' and status <> 'failed'
     union
     select 'app', p.id::text, p.workspace_id, coalesce((select 'it could not be built on another host: ' || n.error
       ${FAILED_VERSIONS} order by n.number desc limit 1), 'no other host has room for it')
     ${LIVE_VERSIONS} join agents a on ${IS_THERE} where a.id = $1 and (${IS_STUCK} or a.drain_ended_at is not null)
     union all
     select 'volume', case kind when 'volume' then name else id::text end, workspace_id, 'its data is on this host' from volumes where agent_id = $1
     union all
     select o.kind, o.name, o.workspace_id, (select m.reason ${FAILED_ARTIFACT}
       order by m.to_agent is null, m.created_at desc limit 1)
     from artifacts o join agents a on a.id = o.agent_id
     where a.id = $1 and ${MOVABLE_ARTIFACT} and not ${IS_ARTIFACT_MOVING} and ${IS_ARTIFACT_TRIED}
   )
   select kind, id, workspace_id, reason, (count(*) over ())::int as total from staying
   order by kind <> 'sandbox', kind, id limit $2`,
)
