import { statement } from '../platform/db/statement.ts'
import { REDELIVERED_AND_TOLD } from '../platform/db/redelivered.ts'
import { sandboxColumns, type SandboxRow } from './sandbox-row.ts'

/**
 * Applies records of agents' logs to the rows of their sandboxes. Of each sandbox, only records above the row's
 * `last_event_seq` count, as if they were applied one after the other. Status `removed` deletes the row; `null` leaves
 * a column as it is. Rows are locked in order of their ids, which prevents deadlocks.
 *
 * @param records JSON: `[{id, agent_id, seq, status, boot_ms, boot_mode, guest_ip}]`
 */
export const applyStatuses = statement<never, [records: string]>(
  'apply-statuses',
  `with record as materialized (
     select * from jsonb_to_recordset($1) as r
       (id uuid, agent_id text, seq bigint, status text, boot_ms integer, boot_mode text, guest_ip text)
   ), row as materialized (
     select id, agent_id, last_event_seq from sandboxes where id in (select id from record) order by id for update
   ), outcome as materialized (
     select row.id, max(r.seq) as seq, bool_or(r.status = 'removed') as is_removed,
       (array_agg(r.status order by r.seq desc))[1] as status,
       (array_agg(r.boot_ms order by r.seq desc) filter (where r.boot_ms is not null))[1] as boot_ms,
       (array_agg(r.boot_mode order by r.seq desc) filter (where r.boot_mode is not null))[1] as boot_mode,
       (array_agg(r.guest_ip order by r.seq desc) filter (where r.guest_ip is not null))[1] as guest_ip
     from row join record r on r.id = row.id and r.agent_id = row.agent_id and r.seq > row.last_event_seq group by row.id
   ), removed as (
     delete from sandboxes s using outcome o where s.id = o.id and o.is_removed
   )
   update sandboxes s set status = o.status, boot_ms = coalesce(o.boot_ms, s.boot_ms),
     boot_mode = coalesce(o.boot_mode, s.boot_mode), guest_ip = coalesce(o.guest_ip, s.guest_ip), last_event_seq = o.seq
   from outcome o where s.id = o.id and not o.is_removed`,
)

/**
 * Applies an agent's answer to a change that control requested. Returns the row, unless a newer record of the log was
 * applied first. If the same record was, the row keeps its values.
 */
export const applyStatus = statement<
  SandboxRow,
  [
    id: string,
    agentId: string,
    seq: number,
    status: string,
    bootMs: number | null,
    bootMode: string | null,
    guestIp: string | null,
  ]
>(
  'apply-status',
  `${REDELIVERED_AND_TOLD}
   update sandboxes set status = $4, boot_ms = coalesce($5, boot_ms), boot_mode = coalesce($6, boot_mode),
     guest_ip = coalesce($7, guest_ip), last_event_seq = $3
   from redelivered where id = $1 and agent_id = $2 and last_event_seq <= $3
   returning ${sandboxColumns()}`,
)

/** Where the rows of these sandboxes say that they are. */
export const ownersOfSandboxes = statement<
  { id: string; agent_id: string | null; workspace_id: string },
  [ids: readonly string[]]
>('owners-of-sandboxes', 'select id, agent_id, workspace_id from sandboxes where id = any($1)')

/** A promotion is never undone, so it needs no sequence number as a guard. */
export const applyPromoted = statement<never, [ids: readonly string[], agentIds: readonly string[]]>(
  'apply-promoted',
  `update sandboxes s set parent_id = null from unnest($1::uuid[], $2::text[]) as promoted (id, agent_id)
   where s.id = promoted.id and s.agent_id = promoted.agent_id and s.parent_id is not null`,
)
