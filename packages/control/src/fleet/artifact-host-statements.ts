import { isAbandoned } from '../platform/db/abandoned.ts'
import { statement } from '../platform/db/statement.ts'
import type { Artifact } from './artifact.ts'
import { isRecentlyRemoved } from './removable.ts'

/**
 * Statements about the hosts that have an artifact beside its home (`artifact.ts`). A home that has lost the artifact is one
 * of them while it gets it again.
 */

export interface ArtifactHost {
  readonly agent_id: string
  readonly state: 'copying' | 'ready'
}

/** The hosts that have an artifact or are getting it, its home first. */
export const hostsOfArtifact = statement<ArtifactHost, [id: string]>(
  'hosts-of-artifact',
  `select agent_id, 'ready' as state from artifacts where id = $1 and is_ready and not is_missing
   union all
   select agent_id, state from artifact_hosts where artifact_id = $1`,
)

/** No row: the host does not have the artifact, and is not getting it. */
export const hostOfArtifact = statement<Pick<ArtifactHost, 'state'>, [id: string, agentId: string]>(
  'host-of-artifact',
  `select 'ready' as state from artifacts where id = $1 and agent_id = $2 and is_ready and not is_missing
   union all
   select state from artifact_hosts where artifact_id = $1 and agent_id = $2`,
)

/**
 * A host is to get the artifact. From now on, it must not remove what it may still have of it. No row: it is getting it
 * already or is its home and has it, it was told to remove it just now, or the artifact is being deleted.
 */
export const beginArtifactHost = statement<{ is_home: boolean }, [id: string, agentId: string, creator: number]>(
  'begin-artifact-host',
  `with host as (
     select id from agents where id = $2 and retired_at is null for share
   ), begun as (
     insert into artifact_hosts (artifact_id, agent_id, workspace_id, creator)
     select o.id, host.id, o.workspace_id, $3 from artifacts o, host
     where o.id = $1 and o.is_ready and not o.is_expiring and (o.agent_id <> host.id or o.is_missing)
       and not ${isRecentlyRemoved('o.id', 'host.id')}
     on conflict do nothing returning artifact_id, agent_id
   ), wanted as (
     delete from removed_objects r using begun where r.id = begun.artifact_id and r.agent_id = begun.agent_id
   )
   select o.agent_id = begun.agent_id as is_home from begun join artifacts o on o.id = begun.artifact_id`,
)

/** The host has it. No row: the artifact was deleted meanwhile. */
export const setArtifactHostReady = statement<{ artifact_id: string }, [id: string, agentId: string]>(
  'set-artifact-host-ready',
  `update artifact_hosts set state = 'ready' where artifact_id = $1 and agent_id = $2 returning artifact_id`,
)

/** The host does not have it. */
export const removeArtifactHost = statement<{ artifact_id: string }, [id: string, agentId: string]>(
  'remove-artifact-host',
  'delete from artifact_hosts where artifact_id = $1 and agent_id = $2 returning artifact_id',
)

/** The number of no process (`ProcessLock`). */
const NOBODY = 0

/** Nobody brings it any more, although the process lives: reconciliation settles the row by what the host has. */
export const abandonArtifactHost = statement<{ artifact_id: string }, [id: string, agentId: string]>(
  'abandon-artifact-host',
  `update artifact_hosts set creator = ${NOBODY} where artifact_id = $1 and agent_id = $2 and state = 'copying'
   returning artifact_id`,
)

/** Copies that a host which is drained has beside their homes. */
export const copiesOnHost = statement<Pick<Artifact, 'id' | 'kind' | 'workspace_id'>, [agentId: string, limit: number]>(
  'artifact-copies-on-host',
  `select h.artifact_id as id, o.kind, h.workspace_id
   from artifact_hosts h join artifacts o on o.id = h.artifact_id
   where h.agent_id = $1 and h.state = 'ready' and o.agent_id <> h.agent_id order by h.artifact_id limit $2`,
  { notNull: ['kind'] },
)

/** Where an artifact is, and where it may come from. */
export interface ArtifactPlaces {
  /** Its home. */
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
  /** It has memory, which only hosts with the accelerator of its home can restore. */
  readonly is_bound: boolean
}

/** No row: it is gone. */
export const placesOfArtifact = statement<ArtifactPlaces, [id: string]>(
  'places-of-artifact',
  `select o.agent_id as home, a.info->>'accelerator' as accelerator, a.info->>'qemu_version' as qemu_version, o.is_missing,
     array(select h.agent_id from artifact_hosts h where h.artifact_id = o.id and h.state = 'ready'
       order by h.created_at) as hosts,
     exists (select from artifact_copies c where c.artifact_id = o.id and c.state = 'stored') as is_stored,
     array(select b.id from agents b where ${isRecentlyRemoved('o.id', 'b.id')}) as leaving, o.is_bound
   from artifacts o join agents a on a.id = o.agent_id where o.id = $1`,
  { notNull: ['home', 'is_missing', 'is_bound'] },
)

/** SQL: a host that has the artifact `o`, which its home had lost, if there is one. */
const OTHER_HOST = `(select h.agent_id from artifact_hosts h join agents a on a.id = h.agent_id
  where h.artifact_id = o.id and h.state = 'ready' and a.retired_at is null order by h.created_at limit 1)`

const MOVED_HOME = `returning o.id, o.agent_id
   ), own as (
     delete from artifact_hosts h using moved where h.artifact_id = moved.id and h.agent_id = moved.agent_id
   )
   select id from moved`

/** The artifacts of a removed host are those of other hosts that have them. */
export const leaveArtifacts = statement<{ id: string }, [agentId: string]>(
  'leave-artifacts',
  `with moved as (
     update artifacts o set agent_id = ${OTHER_HOST}, is_missing = false
     where o.agent_id = $1 and o.is_ready and ${OTHER_HOST} is not null ${MOVED_HOME}`,
  { notNull: ['id'] },
)

/** Its home has lost it. Another host that has it takes its place. No row: there is none. */
export const leaveMissingArtifact = statement<{ id: string }, [id: string, agentId: string]>(
  'leave-missing-artifact',
  `with moved as (
     update artifacts o set agent_id = ${OTHER_HOST}, is_missing = false
     where o.id = $1 and o.agent_id = $2 and ${OTHER_HOST} is not null ${MOVED_HOME}`,
  { notNull: ['id'] },
)

/**
 * The other host has it: that host is its home from now on, and the earlier one has to remove it. No row: the artifact was
 * deleted, or its home is not drained any more.
 */
export const changeHome = statement<{ id: string }, [id: string, fromAgent: string, toAgent: string]>(
  'change-home-of-artifact',
  `with home as (
     select h.agent_id from artifact_hosts h join agents a on a.id = h.agent_id
     where h.artifact_id = $1 and h.agent_id = $3 and h.state = 'ready' and a.retired_at is null
       and exists (select from agents f where f.id = $2 and f.drain_begun_at is not null) for share
   ), moved as (
     update artifacts o set agent_id = home.agent_id, is_missing = false from home
     where o.id = $1 and o.agent_id = $2 and o.is_ready ${MOVED_HOME}`,
  { notNull: ['id'] },
)

/** Its home was removed or had lost it. The home is the host that has it now, if there is one. */
export const settleHome = statement<{ id: string }, [id: string]>(
  'settle-home-of-artifact',
  `with moved as (
     update artifacts o set agent_id = ${OTHER_HOST}, is_missing = false
     where o.id = $1 and ${OTHER_HOST} is not null and (o.is_missing
       or o.agent_id in (select a.id from agents a where a.retired_at is not null)) ${MOVED_HOME}`,
  { notNull: ['id'] },
)

/** A copy keeps the row of an artifact that its home has lost. No row: there is no copy. */
export const noteMissing = statement<{ id: string }, [id: string, agentId: string]>(
  'note-missing-artifact',
  `update artifacts o set is_missing = true where o.id = $1 and o.agent_id = $2 and exists (
     select from artifact_copies c where c.artifact_id = o.id and c.state = 'stored') returning o.id`,
  { notNull: ['id'] },
)

/** Its home has it after all, or again. */
export const noteFound = statement<never, [id: string, agentId: string]>(
  'note-found-artifact',
  `with found as (
     update artifacts set is_missing = false where id = $1 and agent_id = $2 and is_missing
   )
   delete from artifact_hosts h using artifacts o
   where h.artifact_id = $1 and h.agent_id = $2 and o.id = h.artifact_id and o.agent_id = h.agent_id`,
)

export interface ReconcileRow {
  readonly id: string
  readonly workspace_id: string
  readonly is_ready: boolean
  /** The host is not its home, or is a home that gets it again. */
  readonly is_copy: boolean
  /** The host is its home, and is known to have lost it. */
  readonly is_missing: boolean
  /** @see isAbandoned */
  readonly is_abandoned: boolean
}

/** SQL: the home does not get it again just now. There is one row for each artifact and host. */
const IS_NOT_BROUGHT = (row: string) =>
  `not exists (select from artifact_hosts b where b.artifact_id = ${row}.id and b.agent_id = ${row}.agent_id)`

/** The snapshots that an agent should have. @param copySeconds for which a copy from another host may last */
export const snapshotRowsOfAgent = statement<
  ReconcileRow,
  [agentId: string, deadlineSeconds: number, copySeconds: number]
>(
  'snapshot-rows-of-agent',
  `select s.id, s.workspace_id, s.status = 'ready' as is_ready, false as is_copy, s.is_missing,
     ${isAbandoned('s', '$2')} as is_abandoned
   from snapshots s where s.agent_id = $1 and ${IS_NOT_BROUGHT('s')}
   union all
   select s.id, s.workspace_id, h.state = 'ready', true, s.agent_id = h.agent_id, ${isAbandoned('h', '$3')}
   from artifact_hosts h join snapshots s on s.id = h.artifact_id where h.agent_id = $1`,
)

/** The templates that an agent should have. @param copySeconds for which a copy from another host may last */
export const templateRowsOfAgent = statement<ReconcileRow, [agentId: string, copySeconds: number]>(
  'template-rows-of-agent',
  `select id, workspace_id, true as is_ready, false as is_copy, is_missing, false as is_abandoned
   from artifacts o where kind = 'template' and agent_id = $1 and ${IS_NOT_BROUGHT('o')}
   union all
   select h.artifact_id, h.workspace_id, h.state = 'ready', true, t.agent_id = h.agent_id, ${isAbandoned('h', '$2')}
   from artifact_hosts h join templates t on t.id = h.artifact_id where h.agent_id = $1`,
)
