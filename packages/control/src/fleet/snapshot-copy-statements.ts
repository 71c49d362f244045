import { statement } from '../platform/db/statement.ts'
import type { StoredStream } from './stream-statements.ts'

/** A copy of a snapshot in the object store. */
export interface SnapshotCopyRow {
  readonly id: string
  readonly snapshot_id: string
  readonly workspace_id: string
  readonly state: 'waiting' | 'copying' | 'stored' | 'ended'
  readonly origin: string
}

/** No row: the copy or the snapshot is gone. */
export const snapshotCopyById = statement<SnapshotCopyRow, [id: string]>(
  'snapshot-copy-by-id',
  `select c.id, c.snapshot_id, c.workspace_id, c.state, s.origin
   from snapshot_copies c join snapshots s on s.id = c.snapshot_id where c.id = $1`,
)

/** SQL: the snapshots `s` of which there is to be a copy: not those of forks, which end with the children. */
const IS_COPIED = `s.status = 'ready' and s.origin in ('user', 'backup') and s.deletion_due_at is null`

/**
 * Begins copies of snapshots that have none, the oldest first. One that could not be copied just now comes later.
 * @param agents the reachable agents
 */
export const beginSnapshotCopies = statement<
  { id: string },
  [afterSeconds: number, retrySeconds: number, agents: readonly string[], limit: number]
>(
  'begin-snapshot-copies',
  `insert into snapshot_copies (snapshot_id, workspace_id)
   select s.id, s.workspace_id from snapshots s
   where ${IS_COPIED} and s.created_at <= now() - make_interval(secs => $1)
     and ((s.agent_id = any($3) and not s.is_missing) or exists (select from snapshot_hosts h
       where h.id = s.id and h.state = 'ready' and h.agent_id = any($3)))
     and not exists (select from snapshot_copies c where c.snapshot_id = s.id
       and (c.ended_at is null or c.ended_at > now() - make_interval(secs => $2)))
   order by s.created_at
   limit greatest(0, $4 - (select count(*) from snapshot_copies where state in ('waiting', 'copying')))
   on conflict do nothing returning id`,
)

/** No row: the snapshot was deleted meanwhile. */
export const noteSnapshotCopying = statement<{ id: string }, [id: string, bake: string]>(
  'note-snapshot-copying',
  `update snapshot_copies set state = 'copying', bake = $2 where id = $1 and state = 'waiting' returning id`,
)

/** Everything is in the object store. No row: the snapshot was deleted meanwhile, or its bake is not there. */
export const noteSnapshotStored = statement<{ id: string }, [id: string, streamId: string, bakeStreamId: string]>(
  'note-snapshot-stored',
  `with bake as (
     select id from stored_streams where id = $3 and state = 'stored' for share
   ), own as (
     update stored_streams s set state = 'stored' from bake where s.id = $2 and s.state = 'storing' returning s.id
   )
   update snapshot_copies c set state = 'stored', stored_at = now(), bake_stream_id = bake.id from bake, own
   where c.id = $1 and c.state = 'copying' returning c.id`,
)

/** No row: it has ended. */
export const endSnapshotCopy = statement<{ id: string }, [id: string, reason: string]>(
  'end-snapshot-copy',
  `update snapshot_copies set state = 'ended', reason = $2, ended_at = now()
   where id = $1 and ended_at is null returning id`,
)

export const unfinishedSnapshotCopies = statement<{ id: string }, [limit: number]>(
  'unfinished-snapshot-copies',
  `select id from snapshot_copies where state in ('waiting', 'copying') order by created_at limit $1`,
)

/** The streams of the stored copy of a snapshot. */
export const streamsOfSnapshot = statement<StoredStream & { readonly bake: string | null }, [snapshotId: string]>(
  'streams-of-snapshot',
  `select s.id, s.workspace_id, s.chunks, s.bake
   from snapshot_copies c join stored_streams s on (s.copy_id = c.id and s.bake is null) or s.id = c.bake_stream_id
   where c.snapshot_id = $1 and c.state = 'stored' and s.state = 'stored'`,
)

/** Days for which copies are kept that have ended. */
const KEPT_DAYS = 90

export const removeOldSnapshotCopies = statement<never, []>(
  'remove-old-snapshot-copies',
  `delete from snapshot_copies where ended_at < now() - interval '${KEPT_DAYS} days'`,
)

/** For the gauge. `missing`: there is no copy yet. */
export const countSnapshotCopies = statement<{ status: string; count: number }, []>(
  'count-snapshot-copies',
  `select coalesce(c.state, 'missing') as status, count(*) as count
   from snapshots s left join snapshot_copies c on c.snapshot_id = s.id and c.ended_at is null
   where ${IS_COPIED} group by 1`,
)
