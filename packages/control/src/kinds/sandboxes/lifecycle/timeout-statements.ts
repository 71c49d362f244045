import { statement } from '../../../platform/db/statement.ts'
import { sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/**
 * Sandboxes that hibernate at their deadline. `timeout_begun_at` marks an attempt. A deadline after the mark was set by
 * a request during the attempt. The trigger `keep_sandbox_deadline` keeps such a deadline when the sandbox is
 * hibernated, and the job then wakes the sandbox. The trigger removes every other deadline of a hibernated sandbox, and
 * sets a new one when the sandbox wakes. The trigger `job_hibernate_sandbox` computes the time of the job.
 */
const PAUSES = `managed_by is null and on_timeout = 'pause' and deletion_due_at is null and credit_paused_at is null
  and agent_id = any($2)`

const TIMED_OUT = `${PAUSES} and status in ('running', 'paused') and expires_at <= now()`

const EXTENDED = `${PAUSES} and status = 'hibernated' and timeout_begun_at is not null`

/** Sandboxes that must be hibernated now, or woken. @param agents the reachable agents */
export const timedOutIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'timed-out-sandbox-ids',
  `select id from sandboxes where (${TIMED_OUT}) or (${EXTENDED}) order by expires_at limit $1`,
)

/** Marks an attempt. No row: the sandbox need not hibernate now. */
export const beginTimeout = statement<SandboxRow, [id: string, agents: readonly string[]]>(
  'begin-timeout',
  `update sandboxes set timeout_begun_at = now() where id = $1 and ${TIMED_OUT} returning ${sandboxColumns()}`,
)

/** A sandbox that was hibernated although a request extended its deadline. */
export const extendedMeanwhile = statement<SandboxRow, [id: string, agents: readonly string[]]>(
  'extended-meanwhile',
  `select ${sandboxColumns()} from sandboxes where id = $1 and ${EXTENDED}`,
)

/** Ends an attempt that failed. `is_first`: no earlier attempt for this deadline was reported. */
export const failTimeout = statement<{ is_first: boolean }, [id: string, isReported: boolean]>(
  'fail-timeout',
  `update sandboxes s set timeout_begun_at = null,
     timeout_failed_at = case when $2 then coalesce(s.timeout_failed_at, now()) else s.timeout_failed_at end
   from (select id, timeout_failed_at from sandboxes where id = $1 for update) before
   where s.id = before.id returning before.timeout_failed_at is null as is_first`,
)

/** An explicit hibernation: the sandbox is not woken after it. */
export const forgetTimeout = statement<never, [id: string]>(
  'forget-timeout',
  'update sandboxes set timeout_begun_at = null where id = $1 and timeout_begun_at is not null',
)
