import type { WaitingObject } from '@offshoot/contract/host-reconciliation'
import { isAbandoned } from '../platform/db/abandoned.ts'
import { isHeld } from './copy-statements.ts'
import { isUnderWay } from './move-statements.ts'
import { statement } from '../platform/db/statement.ts'
import { tellOrphaned } from './tell-orphaned.ts'

export interface ReconcileRow {
  readonly id: string
  readonly status: string
  readonly last_event_seq: number
  /** @see isAbandoned */
  readonly is_abandoned: boolean
  /** @see isUnderWay */
  readonly is_moving: boolean
  /** @see isHeld */
  readonly is_held: boolean
}

export const rowsOfAgent = statement<ReconcileRow, [agentId: string, createDeadlineSeconds: number]>(
  'rows-of-agent',
  `select s.id, s.status, s.last_event_seq, ${isAbandoned('s', '$2')} as is_abandoned,
     ${isUnderWay('s.id')} as is_moving, ${isHeld('s.id')} as is_held
   from sandboxes s where s.agent_id = $1`,
)

/**
 * Fails a row whose VM has vanished (`recover.orphaned`), unless a record has changed the row since the agent made its
 * list.
 */
export const failOrphan = statement<{ id: string }, [id: string, agentId: string, listSeq: number]>(
  'fail-orphan',
  `with failed as (
     update sandboxes set status = 'failed'
     where id = $1 and agent_id = $2 and last_event_seq <= $3 and status not in ('creating', 'failed')
     returning id, workspace_id, managed_by
   ) ${tellOrphaned('the host does not have the VM any more')}`,
)

export const removeAbandoned = statement<{ id: string }, [id: string, agentId: string]>(
  'remove-abandoned',
  `delete from sandboxes where id = $1 and agent_id = $2 and status = 'creating' returning id`,
)

/** Takes the agent's status where it differs from the row's and no later record explains the difference. */
export const adoptStatus = statement<
  { id: string },
  [id: string, agentId: string, listSeq: number, status: string, seq: number]
>(
  'adopt-status',
  `update sandboxes set status = $4, last_event_seq = greatest(last_event_seq, $5)
   where id = $1 and agent_id = $2 and last_event_seq <= $3 and status <> $4
   returning id`,
)

/** Returns those of the objects whose row the database removed or moved to another agent. */
export const recordedRemovals = statement<{ id: string }, [agentId: string, ids: readonly string[]]>(
  'recorded-removals',
  'select id from removed_objects where agent_id = $1 and id = any($2)',
)

/** Days for which a removal is remembered. An agent that returns within that time can still be told to delete. */
const REMEMBERED_DAYS = 180

export const forgetOldRemovals = statement<never, []>(
  'forget-old-removals',
  `delete from removed_objects where (id, agent_id) in (
     select id, agent_id from removed_objects where removed_at < now() - interval '${REMEMBERED_DAYS} days' limit 10000)`,
)

export type NewlyWaiting = Pick<WaitingObject, 'action' | 'kind' | 'id' | 'workspace_id'>

export interface WaitingRow extends NewlyWaiting {
  readonly since: Date
}

/** Replaces the waiting objects. Objects that keep waiting keep their time and confirmation. */
export const keepWaiting = statement<never, [agentId: string, waiting: string]>(
  'keep-waiting',
  `with now_waiting as (
     select * from jsonb_to_recordset($2) as w (action text, kind text, id text, workspace_id text)
   ), gone as (
     delete from reconcile_waiting r where agent_id = $1
       and not exists (select from now_waiting w where (w.action, w.kind, w.id) = (r.action, r.kind, r.id))
   )
   insert into reconcile_waiting (agent_id, action, kind, id, workspace_id)
   select $1, action, kind, id, workspace_id from now_waiting
   on conflict do nothing`,
)

export const waitingObjects = statement<WaitingRow & { readonly total: number }, [agentId: string, limit: number]>(
  'waiting-objects',
  `select action, kind, id, workspace_id, since, count(*) over () as total from reconcile_waiting
   where agent_id = $1 and confirmed_at is null order by since, kind, id limit $2`,
)

export const waitingByAgent = statement<{ agent_id: string; count: number }, []>(
  'waiting-by-agent',
  'select agent_id, count(*) as count from reconcile_waiting where confirmed_at is null group by agent_id',
)

export const confirmedObjects = statement<NewlyWaiting, [agentId: string]>(
  'confirmed-objects',
  'select action, kind, id, workspace_id from reconcile_waiting where agent_id = $1 and confirmed_at is not null',
)

/** Confirms everything that waits. The update locks the rows, so no concurrent confirmation counts them as well. */
export const confirmWaiting = statement<{ id: string }, [agentId: string]>(
  'confirm-waiting',
  'update reconcile_waiting set confirmed_at = now() where agent_id = $1 and confirmed_at is null returning id',
)

export const ownCluster = statement<{ id: string }, []>('own-cluster', 'select id from cluster')
