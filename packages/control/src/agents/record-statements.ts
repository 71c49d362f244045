import { statement } from '../db/statement.ts'

/** What the log says of a sandbox, once: an older or repeated record changes nothing. `null` leaves a column as it is. */
export const applyStatus = statement<
  { id: string },
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
  `update sandboxes set status = $4, boot_ms = coalesce($5, boot_ms), boot_mode = coalesce($6, boot_mode),
     guest_ip = coalesce($7, guest_ip), last_event_seq = $3
   where id = $1 and agent_id = $2 and last_event_seq < $3
   returning id`,
)

export const applyDeleted = statement<{ id: string }, [id: string, agentId: string, seq: number]>(
  'apply-deleted',
  'delete from sandboxes where id = $1 and agent_id = $2 and last_event_seq < $3 returning id',
)

/** Never undone, so that no number need guard it. */
export const applyPromoted = statement<never, [id: string, agentId: string]>(
  'apply-promoted',
  'update sandboxes set parent_id = null where id = $1 and agent_id = $2 and parent_id is not null',
)
