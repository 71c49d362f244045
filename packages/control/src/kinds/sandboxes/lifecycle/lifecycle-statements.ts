import type { PlanName } from '@offshoot/contract/plan'
import { statement } from '../../../platform/db/statement.ts'
import { sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/**
 * Persistence and idle timeout are both the row's and the agent's, and nothing changes both at once. So before the agent
 * is told, the row is marked unsettled; the mark goes with the new values. A mark that stays (no answer, a crash, two
 * changes at once) says that the agent may hold others than the row, and it is told the row's again
 * ({@link file://./retell-lifecycles.ts}).
 */
export const unsettle = statement<{ mark: Date; is_alone: boolean }, [id: string]>(
  'unsettle-lifecycle',
  `update sandboxes s
   set lifecycle_unsettled_at = greatest(now(), before.lifecycle_unsettled_at + interval '1 ms')
   from (select id, lifecycle_unsettled_at from sandboxes where id = $1 for update) before
   where s.id = before.id and s.deletion_due_at is null
   returning s.lifecycle_unsettled_at as mark, before.lifecycle_unsettled_at is null as is_alone`,
)

/** `null` leaves a column as it is. A time to live counts from now; so does the old one when persistence ends. */
export const setLifecycle = statement<
  SandboxRow,
  [
    id: string,
    ttlSeconds: number | null,
    isPersistent: boolean | null,
    idleTimeoutSeconds: number | null,
    settledMark: Date | null,
  ]
>(
  'set-lifecycle',
  `update sandboxes set
     ttl_seconds = coalesce($2, ttl_seconds),
     persistent = coalesce($3, persistent),
     idle_timeout_seconds = coalesce($4, idle_timeout_seconds),
     expires_at = case
       when coalesce($3, persistent) then null
       when persistent or $2 is not null then now() + make_interval(secs => coalesce($2, ttl_seconds))
       else expires_at end,
     lifecycle_unsettled_at = nullif(lifecycle_unsettled_at, $5)
   where id = $1 and deletion_due_at is null
   returning ${sandboxColumns()}`,
)

export interface UnsettledRow {
  readonly id: string
  readonly workspace_id: string
  readonly persistent: boolean
  readonly idle_timeout_seconds: number
  /** Of its workspace; `null`: that has no account yet. */
  readonly plan: PlanName | null
  readonly mark: Date
}

/** @param ageSeconds longer than any change may take */
export const unsettledOfAgent = statement<UnsettledRow, [agentId: string, ageSeconds: number]>(
  'unsettled-of-agent',
  `select id, workspace_id, persistent, idle_timeout_seconds, plan, lifecycle_unsettled_at as mark
   from sandboxes left join workspace_accounts using (workspace_id)
   where agent_id = $1 and lifecycle_unsettled_at < now() - make_interval(secs => $2)`,
)

export const settle = statement<never, [id: string, mark: Date]>(
  'settle-lifecycle',
  'update sandboxes set lifecycle_unsettled_at = null where id = $1 and lifecycle_unsettled_at = $2',
)
