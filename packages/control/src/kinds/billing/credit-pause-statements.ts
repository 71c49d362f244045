import { statement } from '../../platform/db/statement.ts'
import { type SandboxRow, sandboxColumns } from '../../fleet/sandbox-row.ts'

const IS_SPENT = `exists (select from workspace_accounts a
  where a.workspace_id = sandboxes.workspace_id and a.exhausted_until > now())`

const UNPAID = `status = 'running' and deletion_due_at is null and agent_id = any($2) and ${IS_SPENT}`

const LIFTED = `credit_paused_at is not null and deletion_due_at is null and (agent_id = any($2) or status = 'failed')
  and not ${IS_SPENT}`

/** Running sandboxes of workspaces without credit. @param agents the reachable agents */
export const unpaidIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'unpaid-sandbox-ids',
  `select id from sandboxes where ${UNPAID} limit $1`,
)

/**
 * The mark is written before the pause, so that control knows that it has to resume the sandbox, even if this process
 * dies in between. No row: the sandbox need not be paused.
 */
export const markUnpaid = statement<SandboxRow, [id: string, agents: readonly string[]]>(
  'mark-unpaid-sandbox',
  `update sandboxes set credit_paused_at = coalesce(credit_paused_at, now()) where id = $1 and ${UNPAID}
   returning ${sandboxColumns()}`,
)

/** Sandboxes that were paused for lack of credit and whose workspace has credit again. */
export const liftedIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'lifted-sandbox-ids',
  `select id from sandboxes where ${LIFTED} limit $1`,
)

export const liftedSandbox = statement<SandboxRow, [id: string, agents: readonly string[]]>(
  'lifted-sandbox',
  `select ${sandboxColumns()} from sandboxes where id = $1 and ${LIFTED}`,
)

/** Extends the time to live by the time that the sandbox was paused. */
export const settleLifted = statement<never, [id: string]>(
  'settle-lifted',
  `update sandboxes set expires_at = expires_at + (now() - credit_paused_at), credit_paused_at = null, credit_due_at = null
   where id = $1`,
)
