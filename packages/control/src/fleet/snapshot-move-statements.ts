import { statement } from '../platform/db/statement.ts'
import { isRecentlyRemoved } from './removable.ts'

/** Hosts that one snapshot is offered to in one drain. */
const MAX_ATTEMPTS = 3

/** SQL: the snapshots `s` that a drain moves. */
export const MOVABLE_SNAPSHOT = `s.status = 'ready' and s.deletion_due_at is null`
/** SQL: the attempts of this drain to move the snapshot `s` from the host `a` that have failed. */
export const FAILED_SNAPSHOT = `from snapshot_moves m where m.snapshot_id = s.id and m.from_agent = a.id
  and m.state = 'failed' and m.created_at >= a.drain_begun_at`
export const IS_SNAPSHOT_MOVING =
  'exists (select from snapshot_moves m where m.snapshot_id = s.id and m.finished_at is null)'
/** SQL: another attempt makes no sense in this drain. */
export const IS_SNAPSHOT_TRIED = `(select count(*) >= ${MAX_ATTEMPTS} or bool_or(m.is_final or m.to_agent is null)
  ${FAILED_SNAPSHOT}) is true`

export interface DrainableSnapshot {
  readonly id: string
  readonly workspace_id: string
  /** Other hosts that have it already. */
  readonly hosts: string[]
  /** Hosts that could not take it, or were told to remove it just now. */
  readonly tried: string[]
}

/** The next snapshots to move from a host, the smallest first. */
export const drainableSnapshots = statement<DrainableSnapshot, [agentId: string, limit: number]>(
  'drainable-snapshots',
  `select s.id, s.workspace_id,
     array(select h.agent_id from snapshot_hosts h where h.id = s.id and h.state = 'ready') as hosts,
     array(select m.to_agent ${FAILED_SNAPSHOT} and m.to_agent is not null
       union select b.id from agents b where ${isRecentlyRemoved('s.id', 'b.id')}) as tried
   from snapshots s join agents a on a.id = s.agent_id
   where a.id = $1 and ${MOVABLE_SNAPSHOT} and not ${IS_SNAPSHOT_MOVING} and not ${IS_SNAPSHOT_TRIED}
   order by s.size_bytes, s.id limit $2`,
)

/**
 * Waits for whoever cancels the drain. No row: the host is not drained any more, another move is under way, or the snapshot
 * is gone.
 */
export const beginSnapshotMove = statement<{ id: string }, [snapshotId: string, fromAgent: string, toAgent: string]>(
  'begin-snapshot-move',
  `insert into snapshot_moves (snapshot_id, workspace_id, from_agent, to_agent, state)
   select s.id, s.workspace_id, s.agent_id, $3, 'copying' from snapshots s join agents a on a.id = s.agent_id
   where s.id = $1 and s.agent_id = $2 and ${MOVABLE_SNAPSHOT}
     and a.drain_begun_at is not null and a.drain_ended_at is null
   for share of a
   on conflict do nothing returning id`,
)

/** No host fits the snapshot. */
export const recordUnplacedSnapshot = statement<never, [snapshotId: string, fromAgent: string, reason: string]>(
  'record-unplaced-snapshot',
  `insert into snapshot_moves (snapshot_id, workspace_id, from_agent, state, reason, finished_at)
   select id, workspace_id, agent_id, 'failed', $3, now() from snapshots where id = $1 and agent_id = $2`,
)

export interface SnapshotMoveRow {
  readonly id: string
  readonly snapshot_id: string
  readonly workspace_id: string
  readonly from_agent: string
  readonly to_agent: string
  /** The host of the snapshot now, and its origin; `null`: it is gone. */
  readonly home: string | null
  readonly origin: string | null
}

/** No row: the move has ended. */
export const openSnapshotMove = statement<SnapshotMoveRow, [id: string]>(
  'open-snapshot-move',
  `select m.id, m.snapshot_id, m.workspace_id, m.from_agent, m.to_agent, s.agent_id as home, s.origin
   from snapshot_moves m left join snapshots s on s.id = m.snapshot_id where m.id = $1 and m.finished_at is null`,
  { notNull: ['to_agent'] },
)

/** No row: it has ended. */
export const finishSnapshotMove = statement<{ id: string }, [id: string]>(
  'finish-snapshot-move',
  `update snapshot_moves set state = 'done', finished_at = now() where id = $1 and finished_at is null returning id`,
)

/** @param isFinal whether this drain tries no other host */
export const failSnapshotMove = statement<{ id: string }, [id: string, reason: string, isFinal: boolean]>(
  'fail-snapshot-move',
  `update snapshot_moves set state = 'failed', reason = $2, is_final = $3, finished_at = now()
   where id = $1 and finished_at is null returning id`,
)

export const unfinishedSnapshotMoves = statement<{ id: string }, [limit: number]>(
  'unfinished-snapshot-moves',
  'select id from snapshot_moves where finished_at is null order by created_at limit $1',
)

/** Days for which moves are kept. */
const KEPT_DAYS = 90

export const removeOldSnapshotMoves = statement<never, []>(
  'remove-old-snapshot-moves',
  `delete from snapshot_moves where finished_at < now() - interval '${KEPT_DAYS} days'`,
)
