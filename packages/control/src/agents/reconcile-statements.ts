import { statement } from '../db/statement.ts'
import { ProcessLock } from '../db/process-lock.ts'

export interface ReconcileRow {
  readonly id: string
  readonly status: string
  readonly last_event_seq: number
  /** Its creator is gone, or has been at it for longer than any create may take. */
  readonly is_abandoned: boolean
}

/** @see ProcessLock for how a creator is seen to live */
export const rowsOfAgent = statement<ReconcileRow, [agentId: string, createDeadlineSeconds: number]>(
  'rows-of-agent',
  `select s.id, s.status, s.last_event_seq,
     s.created_at < now() - make_interval(secs => $2) or not exists (
       select from pg_locks l where l.locktype = 'advisory' and l.granted
         and l.database = (select oid from pg_database where datname = current_database())
         and l.classid = ${ProcessLock.PROCESS}::oid and l.objid = s.creator::oid and l.objsubid = 2
     ) as is_abandoned
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
