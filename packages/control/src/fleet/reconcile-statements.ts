import { isAbandoned } from '../platform/db/abandoned.ts'
import { statement } from '../platform/db/statement.ts'

export interface ReconcileRow {
  readonly id: string
  readonly status: string
  readonly last_event_seq: number
  /** @see isAbandoned */
  readonly is_abandoned: boolean
}

export const rowsOfAgent = statement<ReconcileRow, [agentId: string, createDeadlineSeconds: number]>(
  'rows-of-agent',
  `select s.id, s.status, s.last_event_seq, ${isAbandoned('s', '$2')} as is_abandoned
   from sandboxes s where s.agent_id = $1`,
)

/** A row whose VM has vanished (`recover.orphaned`), unless something happened to it since the agent made its list. */
export const failOrphan = statement<{ id: string }, [id: string, agentId: string, listSeq: number]>(
  'fail-orphan',
  `update sandboxes set status = 'failed'
   where id = $1 and agent_id = $2 and last_event_seq <= $3 and status not in ('creating', 'failed')
   returning id`,
)

export const removeAbandoned = statement<{ id: string }, [id: string, agentId: string]>(
  'remove-abandoned',
  `delete from sandboxes where id = $1 and agent_id = $2 and status = 'creating' returning id`,
)

/** The row says one thing, the agent another, and no later record explains it. */
export const adoptStatus = statement<
  { id: string },
  [id: string, agentId: string, listSeq: number, status: string, seq: number]
>(
  'adopt-status',
  `update sandboxes set status = $4, last_event_seq = greatest(last_event_seq, $5)
   where id = $1 and agent_id = $2 and last_event_seq <= $3 and status <> $4
   returning id`,
)
