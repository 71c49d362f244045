import { statement } from '../../../platform/db/statement.ts'
import { VISIBLE_TO_TENANTS } from '../../../fleet/sandbox-row.ts'

/** SQL: the VM of an app on a lost host. Control replaces it, so both together count once. */
const IS_LOST = `managed_by = 'app' and agent_id in (select id from agents where lost_at is not null)`

/** What a workspace currently holds. */
export interface Holdings {
  /** Sandboxes that hold a slot on their agent: all except the failed ones. */
  readonly active: number
  readonly cpu: number
  readonly memory_mib: number
  readonly created_last_hour: number
}

export const holdingsOf = statement<Holdings, [workspaceId: string]>(
  'holdings-of',
  `select held.*, recent.created_last_hour from
     (select count(*) as active, coalesce(sum(cpu), 0) as cpu, coalesce(sum(memory_mb), 0) as memory_mib
      from sandboxes where workspace_id = $1 and status <> 'failed' and ${VISIBLE_TO_TENANTS} and (${IS_LOST}) is not true) held,
     (select count(*) as created_last_hour from sandbox_creates
      where workspace_id = $1 and created_at > now() - interval '1 hour') recent`,
)

/** What a workspace holds beside sandboxes. Open invitations count as members. */
export const objectsOf = statement<
  { readonly volumes: number; readonly volume_mib: number; readonly webhooks: number; readonly members: number },
  [workspaceId: string]
>(
  'objects-of',
  `select held.volumes, held.volume_mib, (select count(*) from webhooks where workspace_id = $1) as webhooks,
     (select count(*) from member where "organizationId" = $1)
       + (select count(*) from invitations where workspace_id = $1 and expires_at > now()) as members
   from (select count(*) filter (where kind = 'volume') as volumes, 
           coalesce(sum(size_mb) filter (where status = 'ready'), 0) as volume_mib
         from volumes where workspace_id = $1) held`,
)

export const noteCreates = statement<never, [workspaceId: string, sandboxIds: readonly string[]]>(
  'note-creates',
  'insert into sandbox_creates (workspace_id, sandbox_id) select $1, unnest($2::uuid[])',
)

export const pruneCreates = statement<never, []>(
  'prune-creates',
  `delete from sandbox_creates where created_at < now() - interval '2 hours'`,
)

/**
 * Marks all sandboxes of a workspace as unsettled, so that reconciliation sends their agents the plan's current limits.
 */
export const unsettleWorkspace = statement<never, [workspaceId: string]>(
  'unsettle-workspace',
  `update sandboxes set lifecycle_unsettled_at = greatest(now(), lifecycle_unsettled_at + interval '1 ms')
   where workspace_id = $1 and status <> 'failed' and deletion_due_at is null`,
)
