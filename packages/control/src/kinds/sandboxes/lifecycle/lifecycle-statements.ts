import type { PlanName } from '@offshoot/contract/plan'
import { statement } from '../../../platform/db/statement.ts'
import type { OnTimeout, Visibility } from '@offshoot/contract/sandbox'
import { sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/**
 * Both the row and the agent store persistence, idle timeout and visibility, and they cannot be changed atomically. Control
 * therefore marks the row as unsettled before it calls the agent, and removes the mark together with the new values. A
 * mark that stays (no answer, a crash, two concurrent changes) means that the agent may have other values than the row.
 * Control then sends it the row's again ({@link file://./resend-lifecycles.ts}).
 */
export const unsettle = statement<{ mark: Date; is_alone: boolean }, [id: string]>(
  'unsettle-lifecycle',
  `update sandboxes s
   set lifecycle_unsettled_at = greatest(now(), before.lifecycle_unsettled_at + interval '1 ms')
   from (select id, lifecycle_unsettled_at from sandboxes where id = $1 for update) before
   where s.id = before.id and s.deletion_due_at is null
   returning s.lifecycle_unsettled_at as mark, before.lifecycle_unsettled_at is null as is_alone`,
  { notNull: ['mark'] },
)

/**
 * `null` leaves a column as it is. A new time to live counts from now, and so does the old one when persistence ends.
 * The trigger `keep_sandbox_deadline` removes the deadline of a hibernated sandbox that has none.
 */
export const setLifecycle = statement<
  SandboxRow,
  [
    id: string,
    ttlSeconds: number | null,
    isPersistent: boolean | null,
    idleTimeoutSeconds: number | null,
    settledMark: Date | null,
    onTimeout: OnTimeout | null,
    visibility: Visibility | null,
  ]
>(
  'set-lifecycle',
  `update sandboxes set
     ttl_seconds = coalesce($2, ttl_seconds),
     persistent = coalesce($3, persistent),
     idle_timeout_seconds = coalesce($4, idle_timeout_seconds),
     on_timeout = coalesce($6, on_timeout),
     visibility = coalesce($7, visibility),
     expires_at = case
       when coalesce($3, persistent) then null
       when persistent or $2 is not null then now() + make_interval(secs => coalesce($2, ttl_seconds))
       else expires_at end,
     timeout_failed_at = case when $2 is null then timeout_failed_at end,
     lifecycle_unsettled_at = nullif(lifecycle_unsettled_at, $5)
   where id = $1 and deletion_due_at is null
   returning ${sandboxColumns()}`,
)

export interface UnsettledRow {
  readonly id: string
  readonly workspace_id: string
  readonly persistent: boolean
  readonly idle_timeout_seconds: number
  readonly visibility: Visibility
  /** The plan of its workspace; `null` if the workspace has no account yet. */
  readonly plan: PlanName | null
  readonly mark: Date
}

/** @param ageSeconds longer than any change may take */
export const unsettledOfAgent = statement<UnsettledRow, [agentId: string, ageSeconds: number]>(
  'unsettled-of-agent',
  `select id, workspace_id, persistent, idle_timeout_seconds, visibility, plan, lifecycle_unsettled_at as mark
   from sandboxes left join workspace_accounts using (workspace_id)
   where agent_id = $1 and lifecycle_unsettled_at < now() - make_interval(secs => $2)`,
  { notNull: ['mark'] },
)

export const settle = statement<never, [id: string, mark: Date]>(
  'settle-lifecycle',
  'update sandboxes set lifecycle_unsettled_at = null where id = $1 and lifecycle_unsettled_at = $2',
)
