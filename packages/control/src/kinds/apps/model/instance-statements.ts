import { hasNoCreator } from '../../../platform/db/abandoned.ts'
import { statement } from '../../../platform/db/statement.ts'
import { DRAIN_SECONDS } from './deployment-statements.ts'
import { sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/** Seconds without need after which an instance ends. */
const QUIET_SECONDS = 60
/** Minimum seconds between two updates of needed_at. */
const NOTE_SECONDS = 5

/** A further instance of an app: a fork of the sandbox of its deployment. */
export interface InstanceRow {
  /** The id of its sandbox. */
  readonly id: string
  readonly app_id: string
  readonly deployment_id: string
}

const ACTIVE = 'i.deployment_id = (select active_deployment_id from apps a where a.id = i.app_id)'

/**
 * Marks the oldest `needed - 1` instances as needed. The deployment's own sandbox, which has no row here, is the first
 * instance.
 */
export const noteNeeded = statement<never, [appId: string, needed: number]>(
  'note-needed-instances',
  `with ranked as (
     select i.id as ranked_id, row_number() over (order by i.created_at, i.id) as place
     from app_instances i where i.app_id = $1 and i.status <> 'draining' and ${ACTIVE}
   )
   update app_instances set needed_at = now() from ranked
   where id = ranked_id and place < $2 and needed_at < now() - interval '${NOTE_SECONDS} seconds'`,
)

/**
 * Inserts a row for a new instance before its sandbox is created. No row: there are enough instances, or there is no
 * sandbox to fork. Lock the app in an earlier statement, so that the count is exact.
 */
export const claimInstance = statement<InstanceRow, [id: string, appId: string, creator: number, needed: number]>(
  'claim-instance',
  `insert into app_instances as i (id, app_id, deployment_id, creator, status)
   select $1, a.id, d.id, $3, 'starting' from apps a join app_deployments d on d.id = a.active_deployment_id
   where a.id = $2 and a.deletion_due_at is null and d.sandbox_id is not null
     and 1 + (select count(*) from app_instances o where o.deployment_id = d.id and o.status <> 'draining')
       < least($4, a.max_instances)
   returning i.id, i.app_id, i.deployment_id`,
)

/** Starts to route visitors to the instance. No row: another version has gone live meanwhile. */
export const setServing = statement<{ id: string }, [id: string]>(
  'set-instance-serving',
  `update app_instances i set status = 'serving', needed_at = now() where i.id = $1 and i.status = 'starting' and ${ACTIVE}
   returning i.id`,
)

/** Its sandbox becomes an orphan. */
export const forgetInstance = statement<never, [id: string]>(
  'forget-instance',
  'delete from app_instances where id = $1',
)

/** Stops routing visitors to the instance, which may finish its requests. */
export const drainInstance = statement<never, [id: string]>(
  'drain-instance',
  `update app_instances set status = 'draining', drain_until = now() + interval '${DRAIN_SECONDS} seconds'
   where id = $1 and status = 'serving'`,
)

/** Call it in one transaction with the switch to another version. */
export const drainOthers = statement<never, [appId: string, deploymentId: string]>(
  'drain-other-instances',
  `update app_instances set status = 'draining', drain_until = now() + interval '${DRAIN_SECONDS} seconds'
   where app_id = $1 and deployment_id <> $2 and status <> 'draining'`,
)

/** Drains instances that were not needed for a while, and those beyond the app's current maximum. */
export const drainSpare = statement<never, []>(
  'drain-spare-instances',
  `with ranked as (
     select i.id as ranked_id, a.max_instances, row_number() over (partition by i.app_id order by i.created_at, i.id) as place
     from app_instances i join apps a on a.id = i.app_id where i.status = 'serving'
   )
   update app_instances set status = 'draining', drain_until = now() + interval '${DRAIN_SECONDS} seconds'
   from ranked where id = ranked_id and status = 'serving'
     and (needed_at < now() - interval '${QUIET_SECONDS} seconds' or place >= max_instances)`,
)

/** Removes instances whose creation was abandoned, and those whose sandbox is gone. */
export const forgetLost = statement<never, []>(
  'forget-lost-instances',
  `delete from app_instances i where i.status = 'starting' and ${hasNoCreator('i')}
     or i.status <> 'starting' and not exists (select from sandboxes s where s.id = i.id and s.status <> 'failed')`,
)

/** A page of them, by id. */
export const drainingInstances = statement<
  InstanceRow & { readonly is_over: boolean },
  [afterId: string, limit: number]
>(
  'draining-instances',
  `select id, app_id, deployment_id, drain_until <= now() as is_over from app_instances where status = 'draining'
     and id > $1 order by id limit $2`,
)

export interface ServingRow extends InstanceRow {
  /** The port on which the app listens. */
  readonly port: number
}

/** One page, ordered by id. */
export const servingInstances = statement<ServingRow, [afterId: string, limit: number]>(
  'serving-instances',
  `select i.id, i.app_id, i.deployment_id, d.port from app_instances i
   join app_deployments d on d.id = i.deployment_id join sandboxes s on s.id = i.id
   where i.status = 'serving' and s.status = 'running' and i.id > $1 order by i.id limit $2`,
)

/** All sandboxes that serve an app, the deployment's own first. */
export const servingSandboxes = statement<SandboxRow, [appId: string]>(
  'serving-sandboxes-of-app',
  `select ${sandboxColumns()} from apps a join app_deployments d on d.id = a.active_deployment_id
   join sandboxes on sandboxes.id = d.sandbox_id
     or sandboxes.id in (select i.id from app_instances i where i.deployment_id = d.id and i.status = 'serving')
   where a.id = $1 order by sandboxes.id = d.sandbox_id desc, sandboxes.created_at`,
)

/** A sandbox of an app, with the version that it runs. */
export interface VersionSandbox extends SandboxRow {
  /** How many deployments the app had had with this one. */
  readonly version: number
  /** When the deployment was asked for. */
  readonly version_at: Date
  readonly was_live: boolean
  /** Whether it is the version that serves now. */
  readonly is_active: boolean
}

/** The sandboxes of all versions of an app that are kept, further instances included. */
export const versionSandboxes = statement<VersionSandbox, [appId: string]>(
  'sandboxes-of-app-versions',
  `select ${sandboxColumns()}, d.created_at as version_at, d.was_live,
     d.id is not distinct from a.active_deployment_id as is_active,
     (select count(*)::integer from app_deployments o where o.app_id = a.id and o.number <= d.number) as version
   from apps a join app_deployments d on d.app_id = a.id
   join sandboxes on sandboxes.id = d.sandbox_id
     or sandboxes.id in (select i.id from app_instances i where i.deployment_id = d.id and i.status <> 'starting')
   where a.id = $1 order by d.number, sandboxes.created_at`,
)

/** Whether there are instances at all. */
export const hasInstances = statement<{ found: boolean }, []>(
  'has-instances',
  'select exists (select from app_instances) as found',
)
