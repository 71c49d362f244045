import { isAbandoned } from '../platform/db/abandoned.ts'
import { statement } from '../platform/db/statement.ts'
import { isRecentlyRemoved } from './removable.ts'

export interface SnapshotHost {
  readonly agent_id: string
  readonly state: 'copying' | 'ready'
}

/** The hosts that have a snapshot or are getting it, that of its row first. */
export const hostsOfSnapshot = statement<SnapshotHost, [id: string]>(
  'hosts-of-snapshot',
  `select agent_id, 'ready' as state from snapshots where id = $1 and status = 'ready' and not is_missing
   union all
   select agent_id, state from snapshot_hosts where id = $1`,
)

/** No row: the host does not have the snapshot, and is not getting it. */
export const hostOfSnapshot = statement<Pick<SnapshotHost, 'state'>, [id: string, agentId: string]>(
  'host-of-snapshot',
  `select 'ready' as state from snapshots where id = $1 and agent_id = $2 and status = 'ready' and not is_missing
   union all
   select state from snapshot_hosts where id = $1 and agent_id = $2`,
)

/**
 * A host is to get the snapshot. From now on, it must not remove what it may still have of it. No row: it is getting it
 * already or is its home, it was told to remove it just now, or the snapshot is being deleted.
 */
export const beginSnapshotHost = statement<{ id: string }, [id: string, agentId: string, creator: number]>(
  'begin-snapshot-host',
  `with host as (
     select id from agents where id = $2 and retired_at is null for share
   ), begun as (
     insert into snapshot_hosts (id, agent_id, workspace_id, creator)
     select s.id, host.id, s.workspace_id, $3 from snapshots s, host
     where s.id = $1 and s.status = 'ready' and s.deletion_due_at is null and s.agent_id <> host.id
       and not ${isRecentlyRemoved('s.id', 'host.id')}
     on conflict do nothing returning id, agent_id
   ), wanted as (
     delete from removed_objects r using begun where r.id = begun.id and r.agent_id = begun.agent_id
   )
   select id from begun`,
)

/** The host has it. No row: the snapshot was deleted meanwhile. */
export const setSnapshotHostReady = statement<{ id: string }, [id: string, agentId: string]>(
  'set-snapshot-host-ready',
  `update snapshot_hosts set state = 'ready' where id = $1 and agent_id = $2 returning id`,
)

/** The host does not have it. */
export const removeSnapshotHost = statement<{ id: string }, [id: string, agentId: string]>(
  'remove-snapshot-host',
  'delete from snapshot_hosts where id = $1 and agent_id = $2 returning id',
)

/** Copies that a host which is drained has beside other hosts. */
export const copiesOnHost = statement<{ id: string; workspace_id: string }, [agentId: string, limit: number]>(
  'snapshot-copies-on-host',
  `select id, workspace_id from snapshot_hosts where agent_id = $1 and state = 'ready' order by id limit $2`,
)

/** Where a snapshot is, and where it may come from. */
export interface SnapshotPlaces {
  /** The host of its row. */
  readonly home: string
  /** What that host has told of itself. */
  readonly accelerator: string | null
  readonly qemu_version: string | null
  readonly is_missing: boolean
  /** Other hosts that have it. */
  readonly hosts: string[]
  /** Whether the object store has it. */
  readonly is_stored: boolean
  /** Hosts that were told to remove it just now, so they must not get it yet. */
  readonly leaving: string[]
}

/** No row: it is gone. */
export const placesOfSnapshot = statement<SnapshotPlaces, [id: string]>(
  'places-of-snapshot',
  `select s.agent_id as home, a.info->>'accelerator' as accelerator, a.info->>'qemu_version' as qemu_version, s.is_missing,
     array(select h.agent_id from snapshot_hosts h where h.id = s.id and h.state = 'ready' order by h.created_at) as hosts,
     exists (select from snapshot_copies c where c.snapshot_id = s.id and c.state = 'stored') as is_stored,
     array(select b.id from agents b where ${isRecentlyRemoved('s.id', 'b.id')}) as leaving
   from snapshots s join agents a on a.id = s.agent_id where s.id = $1`,
)

/** SQL: another host that has the snapshot `s`, if there is one. */
const OTHER_HOST = `(select h.agent_id from snapshot_hosts h join agents a on a.id = h.agent_id
  where h.id = s.id and h.state = 'ready' and a.retired_at is null order by h.created_at limit 1)`

const MOVED_HOME = `returning s.id, s.agent_id
   ), own as (
     delete from snapshot_hosts h using moved where h.id = moved.id and h.agent_id = moved.agent_id
   )
   select id from moved`

/** The snapshots of a removed host are those of other hosts that have them. */
export const leaveSnapshots = statement<{ id: string }, [agentId: string]>(
  'leave-snapshots',
  `with moved as (
     update snapshots s set agent_id = ${OTHER_HOST}, is_missing = false
     where s.agent_id = $1 and s.status = 'ready' and ${OTHER_HOST} is not null ${MOVED_HOME}`,
)

/** The host of its row has lost it. Another one that has it takes its place. No row: there is none. */
export const leaveMissingSnapshot = statement<{ id: string }, [id: string, agentId: string]>(
  'leave-missing-snapshot',
  `with moved as (
     update snapshots s set agent_id = ${OTHER_HOST}, is_missing = false
     where s.id = $1 and s.agent_id = $2 and ${OTHER_HOST} is not null ${MOVED_HOME}`,
)

/**
 * The other host has it: the snapshot is that host's from now on, and the earlier one has to remove it. No row: the snapshot
 * was deleted, or its host is not drained any more.
 */
export const changeHome = statement<{ id: string }, [id: string, fromAgent: string, toAgent: string]>(
  'change-home-of-snapshot',
  `with home as (
     select h.agent_id from snapshot_hosts h join agents a on a.id = h.agent_id
     where h.id = $1 and h.agent_id = $3 and h.state = 'ready' and a.retired_at is null
       and exists (select from agents f where f.id = $2 and f.drain_begun_at is not null) for share
   ), moved as (
     update snapshots s set agent_id = home.agent_id, is_missing = false from home
     where s.id = $1 and s.agent_id = $2 and s.status = 'ready' ${MOVED_HOME}`,
)

/** The host of its row was removed or has lost it. Another one that has it takes its place, if there is one. */
export const settleHome = statement<{ id: string }, [id: string]>(
  'settle-home-of-snapshot',
  `with moved as (
     update snapshots s set agent_id = ${OTHER_HOST}, is_missing = false
     where s.id = $1 and ${OTHER_HOST} is not null and (s.is_missing
       or s.agent_id in (select a.id from agents a where a.retired_at is not null)) ${MOVED_HOME}`,
)

/** A copy keeps the row of a snapshot that its host has lost. No row: there is no copy. */
export const noteMissing = statement<{ id: string }, [id: string, agentId: string]>(
  'note-missing-snapshot',
  `update snapshots s set is_missing = true where s.id = $1 and s.agent_id = $2 and exists (
     select from snapshot_copies c where c.snapshot_id = s.id and c.state = 'stored') returning s.id`,
)

/** Its host has it after all. */
export const noteFound = statement<never, [id: string, agentId: string]>(
  'note-found-snapshot',
  'update snapshots set is_missing = false where id = $1 and agent_id = $2 and is_missing',
)

export interface ReconcileSnapshotRow {
  readonly id: string
  readonly workspace_id: string
  readonly status: 'creating' | 'ready'
  /** The snapshot is another host's, too. */
  readonly is_copy: boolean
  /** The host is known not to have it. */
  readonly is_missing: boolean
  /** @see isAbandoned */
  readonly is_abandoned: boolean
}

/** What an agent should have. @param copySeconds for which a copy from another host may last */
export const snapshotRowsOfAgent = statement<
  ReconcileSnapshotRow,
  [agentId: string, deadlineSeconds: number, copySeconds: number]
>(
  'snapshot-rows-of-agent',
  `select s.id, s.workspace_id, s.status, false as is_copy, s.is_missing, ${isAbandoned('s', '$2')} as is_abandoned
   from snapshots s where s.agent_id = $1
   union all
   select h.id, h.workspace_id, case h.state when 'ready' then 'ready' else 'creating' end, true, false,
     ${isAbandoned('h', '$3')}
   from snapshot_hosts h where h.agent_id = $1`,
)
