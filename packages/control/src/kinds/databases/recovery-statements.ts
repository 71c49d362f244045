import type { EdgeDatabase } from '@offshoot/contract/edge-database'
import type { AgentId, SnapshotId, WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import { retiredAgent } from '../../fleet/agent-statements.ts'
import { HAS_ENDED } from '../../fleet/host-ended.ts'
import { holdEndedLease } from '../../fleet/lease-statements.ts'
import { statement } from '../../platform/db/statement.ts'
import { transaction } from '../../platform/db/transaction.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { WHOLE_BACKUPS } from './backup-statements.ts'

/** Seconds after which a host is offered a database again that it could not take. */
const AGAIN_SECONDS = 30

/**
 * SQL: the database `d`, whose sandbox is on the agent `a`, may come back on another host. One that is heard again gets a
 * lease as soon as nothing comes back elsewhere.
 */
const IS_LOST = `d.status = 'ready' and ${HAS_ENDED} and (a.lost_at is not null or a.retired_at is not null)
     and exists (select from stored_segments g where g.archive_id = d.id and g.state = 'stored')`

/**
 * SQL: the backup `b`, whose snapshot is `s`, may be used: the object store or a host that has not ended has it, and its
 * verification has not failed.
 */
const IS_USABLE = `b.verified <> 'failed' and (
       exists (select from artifact_copies c where c.artifact_id = s.id and c.state = 'stored')
       or exists (select from agents a where not (${HAS_ENDED}) and a.retired_at is null
         and ((a.id = s.agent_id and not s.is_missing) or a.id in (
           select h.agent_id from artifact_hosts h where h.artifact_id = s.id and h.state = 'ready'))))`

/** SQL: there is a usable backup of the database `d`. */
const HAS_BACKUP = `exists (select from ${WHOLE_BACKUPS} where b.database_id = d.id and ${IS_USABLE})`

/** SQL: `m` is a move of a database from its host `a` that has not been committed. It may be ended without that host. */
const MAY_END = `m.from_agent = a.id and m.backup_id is null and m.finished_at is null
     and m.state in ('leaving', 'copying', 'failed')`

/** A backup from which a lost database may come back. */
export interface UsableBackup {
  readonly id: string
  readonly database_id: string
  readonly workspace_id: WorkspaceId
  readonly from_agent: string
  /** Hosts that the database must not come back on: its own, and those that could not take it or still have a part. */
  readonly tried: string[]
}

/**
 * The usable backups of lost databases, those of one database after the other. With each the same data come back, so the
 * one that has failed least comes first, and then the newest.
 */
export const usableBackups = statement<UsableBackup, []>(
  'usable-backups-of-lost-databases',
  `select b.id, d.id as database_id, d.workspace_id, a.id as from_agent, a.id || array(select m.to_agent from sandbox_moves m
       where m.sandbox_id = d.id and m.to_agent is not null and (m.left_behind is not null
         or (m.backup_id is not null and m.state = 'failed'
           and m.created_at > now() - interval '${AGAIN_SECONDS} seconds'))) as tried
   from databases d join sandboxes sb on sb.id = d.id join agents a on a.id = sb.agent_id
     join (${WHOLE_BACKUPS}) on b.database_id = d.id
   where ${IS_LOST} and ${IS_USABLE}
     and not exists (select from sandbox_moves m
       where m.sandbox_id = d.id and m.finished_at is null and not (${MAY_END}))
   order by d.id, (select count(*) from sandbox_moves m
     where m.sandbox_id = d.id and m.backup_id = b.id and m.state = 'failed'), b.taken_at desc, b.id desc`,
)

/** The drain of a lost host ends for a database that comes back elsewhere. */
export const endMovesOfLost = statement<never, [databaseId: string]>(
  'end-moves-of-lost-database',
  `update sandbox_moves m set state = 'failed', reason = 'the host was lost', finished_at = now(),
     left_behind = case m.state when 'copying' then m.to_agent else m.left_behind end
   from agents a, databases d, sandboxes s
   where m.sandbox_id = $1 and d.id = $1 and s.id = $1 and a.id = s.agent_id and ${MAY_END} and ${IS_LOST}`,
)

/** No row: another process has begun, or the host has not ended. */
export const insertRecovery = statement<{ id: string }, [databaseId: string, toAgent: string, backupId: string]>(
  'begin-database-recovery',
  `insert into sandbox_moves (sandbox_id, workspace_id, from_agent, to_agent, state, bake, source_seq, backup_id)
   select d.id, d.workspace_id, a.id, $2, 'copying', '', 0, $3
   from databases d join sandboxes s on s.id = d.id join agents a on a.id = s.agent_id
   where d.id = $1 and ${IS_LOST}
   on conflict do nothing returning id`,
)

/** The lease of its host cannot be granted anew meanwhile. @returns whether it has begun */
export function beginRecovery(pool: pg.Pool, { id, database_id, from_agent }: UsableBackup, to: string) {
  return transaction(pool, async (client) => {
    const ended = [...(await holdEndedLease(client, from_agent)), ...(await retiredAgent(client, from_agent))]
    if (ended.length === 0) return false
    await endMovesOfLost(client, database_id)
    return (await insertRecovery(client, database_id, to, id)).length > 0
  })
}

/** A recovery that is under way: the move, what is to be made, and from which backup. */
export interface Recovery extends Pick<
  DatabaseRow,
  'workspace_id' | 'size' | 'secrets' | 'idle_timeout_seconds' | 'always_on' | 'disk_mb'
> {
  readonly id: DatabaseRow['id']
  readonly move_id: string
  readonly from_agent: string
  readonly to_agent: AgentId
  readonly backup_id: SnapshotId
  readonly taken_at: Date
  readonly created_at: Date
  /** There is a newer one, from which the database may come back later. */
  readonly has_newer: boolean
  /** Of the time of the backup. */
  readonly backup_secrets: Buffer
  readonly egress: 'internet' | 'none'
}

/** SQL: there is a usable backup of the database `d` that is newer than `used`. */
const HAS_NEWER = `exists (select from ${WHOLE_BACKUPS}
     where b.database_id = d.id and b.taken_at > used.taken_at and ${IS_USABLE})`

export const openRecoveries = statement<Recovery, []>(
  'open-database-recoveries',
  `select d.id, d.workspace_id, d.size, d.secrets, d.idle_timeout_seconds, d.always_on, d.disk_mb, m.id as move_id,
     m.from_agent, m.to_agent, m.backup_id, used.taken_at, n.created_at, used.secrets as backup_secrets, n.egress, ${HAS_NEWER} as has_newer
   from sandbox_moves m join databases d on d.id = m.sandbox_id
     join database_backups used on used.id = m.backup_id join snapshots n on n.id = used.id
   where m.state = 'copying' and m.backup_id is not null
   order by m.created_at`,
  { notNull: ['to_agent', 'backup_id'] },
)

/** Recoveries whose database or backup was deleted. */
export const endPointlessRecoveries = statement<never, []>(
  'end-pointless-recoveries',
  `update sandbox_moves m set state = 'failed', reason = 'the database or its backup was deleted', left_behind = to_agent
   where m.state = 'copying' and m.backup_id is not null and not exists (
     select from databases d join database_backups b on b.id = m.backup_id
     where d.id = m.sandbox_id and d.status = 'ready')`,
)

export interface NeededSegment {
  readonly name: string
  /** By the clock of the host that took it. */
  readonly taken_at: Date
  /** When control was told of it. */
  readonly recorded_at: Date
}

/** Files of the archive that are in the object store and may be needed. */
export const neededSegments = statement<NeededSegment, [id: string, since: Date]>(
  'needed-segments',
  `select name, taken_at, recorded_at from stored_segments
   where archive_id = $1 and state = 'stored' and (taken_at >= $2 or name like '%.history') order by name`,
)

/**
 * Second half of the commit, as for a move: the database is on the other host from now on. No row: it was deleted, its
 * host has not ended, or the other host was removed.
 */
export const takeOver = statement<
  { id: string },
  [databaseId: string, fromAgent: string, toAgent: string, toSeq: number, until: Date]
>(
  'take-over-database',
  `with destination as (
     select id from agents where id = $3 and retired_at is null for share
   ), moved as (
     update sandboxes s set agent_id = destination.id, last_event_seq = $4, status = 'running' from destination, agents a
     where s.id = $1 and s.agent_id = $2 and a.id = s.agent_id and ${HAS_ENDED} returning s.id
   ), wanted as (
     delete from removed_objects r using moved where r.id = moved.id and r.agent_id = $3
   )
   update databases d set recovered_at = now(), recovered_until = $5, backup_due_at = now() from moved
   where d.id = moved.id and d.status = 'ready' returning d.id`,
)

/** For the gauge: databases whose host has ended, by whether there is what they can come back from. */
export const countLost = statement<{ status: string; count: number }, []>(
  'count-lost-databases',
  `select case when exists (select from stored_segments g where g.archive_id = d.id and g.state = 'stored')
       and ${HAS_BACKUP} then 'recoverable' else 'not_recoverable' end as status, count(*) as count
   from databases d join sandboxes sb on sb.id = d.id join agents a on a.id = sb.agent_id
   where d.status = 'ready' and ${HAS_ENDED} group by 1`,
)

/** No row: there is no such database. It comes back until the recovery has made it public. */
export const databaseForEdges = statement<EdgeDatabase, [databaseId: string]>(
  'database-for-edges',
  `select exists (select from sandbox_moves m
       where m.sandbox_id = d.id and m.backup_id is not null and m.finished_at is null)
     or exists (select from sandboxes sb join agents a on a.id = sb.agent_id
       where sb.id = d.id and ${IS_LOST} and ${HAS_BACKUP}) as is_coming_back
   from databases d where d.id = $1 and d.status <> 'deleting'`,
)
