import { statement } from '../../platform/db/statement.ts'
import { type SandboxRow, sandboxColumns } from '../../fleet/sandbox-row.ts'

const IS_SPENT = `exists (select from workspace_accounts a
  where a.workspace_id = sandboxes.workspace_id and a.exhausted_until > now())`

/**
 * Claims running sandboxes of workspaces without credit. The mark is written before the pause, so that control knows
 * that it has to resume the sandbox, even if this process dies in between.
 */
export const claimUnpaid = statement<SandboxRow, [limit: number, agents: readonly string[], leaseSeconds: number]>(
  'claim-unpaid',
  `with due as materialized (
     select id as due_id from sandboxes
     where status = 'running' and deletion_due_at is null and agent_id = any($2) and ${IS_SPENT}
       and (credit_due_at is null or credit_due_at <= now())
     limit $1 for update skip locked
   )
   update sandboxes set credit_paused_at = coalesce(credit_paused_at, now()),
     credit_due_at = now() + make_interval(secs => $3)
   from due where id = due_id
   returning ${sandboxColumns()}`,
)

/** Claims sandboxes that were paused for lack of credit and whose workspace has credit again. */
export const claimLifted = statement<SandboxRow, [limit: number, agents: readonly string[], leaseSeconds: number]>(
  'claim-lifted',
  `with due as materialized (
     select id as due_id from sandboxes
     where credit_paused_at is not null and deletion_due_at is null and (agent_id = any($2) or status = 'failed')
       and not ${IS_SPENT} and (credit_due_at is null or credit_due_at <= now())
     limit $1 for update skip locked
   )
   update sandboxes set credit_due_at = now() + make_interval(secs => $3)
   from due where id = due_id
   returning ${sandboxColumns()}`,
)

export const retryCredit = statement<never, [id: string, afterSeconds: number]>(
  'retry-credit',
  'update sandboxes set credit_due_at = now() + make_interval(secs => $2) where id = $1',
)

export const settlePaused = statement<never, [id: string]>(
  'settle-paused',
  'update sandboxes set credit_due_at = null where id = $1',
)

/** Extends the time to live by the time that the sandbox was paused. */
export const settleLifted = statement<never, [id: string]>(
  'settle-lifted',
  `update sandboxes set expires_at = expires_at + (now() - credit_paused_at), credit_paused_at = null, credit_due_at = null
   where id = $1`,
)
