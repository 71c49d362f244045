import { statement } from '../platform/db/statement.ts'
import { COPYABLE } from './move-statements.ts'

export type CopyState = 'leaving' | 'copying' | 'stored' | 'taken' | 'ended'

/** A copy of a sandbox in the object store, with what the row of the sandbox says now. */
export interface CopyRow {
  readonly id: string
  readonly sandbox_id: string
  readonly workspace_id: string
  /** The agent that has the sandbox, and does not wake it while the copy is not settled. */
  readonly agent_id: string
  readonly state: CopyState
  readonly is_settled: boolean
  /** The hash of its bake, from `copying` on. */
  readonly bake: string | null
  /** The end of the agent's log when the sandbox was leaving. */
  readonly source_seq: number | null
  /** The agent that has the sandbox; `null`: the sandbox is gone. */
  readonly owner: string | null
}

const COLUMNS = `c.id, c.sandbox_id, c.workspace_id, c.agent_id, c.state, c.is_settled, c.bake, c.source_seq,
     s.agent_id as owner`

export const copyById = statement<CopyRow, [id: string]>(
  'copy-by-id',
  `select ${COLUMNS} from sandbox_copies c left join sandboxes s on s.id = c.sandbox_id where c.id = $1`,
)

/** The copy that keeps the sandbox from waking. */
export const copyHolding = statement<CopyRow, [sandboxId: string]>(
  'copy-holding',
  `select ${COLUMNS} from sandbox_copies c left join sandboxes s on s.id = c.sandbox_id
   where c.sandbox_id = $1 and not c.is_settled`,
)

/** SQL: a copy keeps the sandbox `$` from waking. */
export const isHeld = (sandbox: string): string =>
  `exists (select from sandbox_copies c where c.sandbox_id = ${sandbox} and not c.is_settled)`

/**
 * SQL: the copy `c` is the newest state of its sandbox. Not known if the database was restored since its host was heard:
 * the copy may have been given up after the backup.
 */
export const IS_PROVEN = 'c.incarnation = (select database_incarnation())'

/** @see database_incarnation in migrations/0071-copy-incarnations.ts */
export const databaseIncarnation = statement<{ is: string }, []>(
  'database-incarnation',
  'select database_incarnation() as is',
)

/**
 * The host waits for the end of these copies.
 * @param incarnation read before the host was asked; a copy that was given up since is known as such
 */
export const noteProven = statement<never, [agentId: string, ids: readonly string[], incarnation: string]>(
  'note-proven-copies',
  `update sandbox_copies c set incarnation = $3
   where c.id = any($2) and c.agent_id = $1 and c.ended_at is null and c.incarnation <> $3
     and $3 = database_incarnation()`,
)

/**
 * Begins copies of sandboxes that have slept for a while, those that have slept longest first. What was copied or woken
 * just now, or moves, comes later.
 * @param agents the reachable agents
 */
export const beginCopies = statement<{ id: string }, [afterSeconds: number, agents: readonly string[], limit: number]>(
  'begin-copies',
  `insert into sandbox_copies (sandbox_id, workspace_id, agent_id, state)
   select s.id, s.workspace_id, s.agent_id, 'leaving' from sandboxes s join agents a on a.id = s.agent_id
   where s.hibernated_at <= now() - make_interval(secs => $1) and s.status = 'hibernated' and ${COPYABLE}
     and a.id = any($2) and a.retired_at is null and (a.drain_begun_at is null or a.drain_ended_at is not null)
     and not exists (select from sandbox_moves m
       where m.sandbox_id = s.id and (m.finished_at is null or m.left_behind is not null))
     and not exists (select from sandbox_copies c
       where c.sandbox_id = s.id and (not c.is_settled or c.ended_at > now() - make_interval(secs => $1)))
   order by s.hibernated_at
   limit greatest(0, $3 - (select count(*) from sandbox_copies where state in ('leaving', 'copying')))
   on conflict do nothing returning id`,
)

/** The host refuses to wake the sandbox from now on. No row: the copy was given up meanwhile. */
export const noteCopying = statement<{ id: string }, [id: string, bake: string, sourceSeq: number]>(
  'note-copying',
  `update sandbox_copies set state = 'copying', bake = $2, source_seq = $3 where id = $1 and state = 'leaving'
   returning id`,
)

/** Everything is in the object store. No row: the copy was given up meanwhile, or its bake is not there. */
export const noteStored = statement<{ id: string }, [id: string, streamId: string, bakeStreamId: string]>(
  'note-stored-copy',
  `with bake as (
     select id from stored_streams where id = $3 and state = 'stored' for share
   ), own as (
     update stored_streams s set state = 'stored' from bake where s.id = $2 and s.state = 'storing' returning s.id
   )
   update sandbox_copies c set state = 'stored', stored_at = now(), bake_stream_id = bake.id from bake, own
   where c.id = $1 and c.state = 'copying' returning c.id`,
)

/** Gives a copy up: its sandbox stays with its host. No row: another host has taken it, or it was given up before. */
export const endCopy = statement<{ id: string }, [id: string, reason: string]>(
  'end-copy',
  `update sandbox_copies set state = 'ended', reason = $2, ended_at = now()
   where id = $1 and ended_at is null returning id`,
)

/** A part of the commit by which another host gets the sandbox. No row: the copy was given up, or may be outdated. */
export const takeCopy = statement<{ id: string }, [id: string]>(
  'take-copy',
  `update sandbox_copies c set state = 'taken', reason = 'another host has the sandbox', ended_at = now(),
     is_settled = true
   where c.id = $1 and c.state = 'stored' and ${IS_PROVEN} returning c.id`,
)

/** The host knows that the copy was given up. */
export const noteSettled = statement<never, [id: string]>(
  'note-settled-copy',
  `update sandbox_copies set is_settled = true where id = $1 and state = 'ended'`,
)

/** The sandboxes that their host has lost, although it answers. */
export const noteSourceLost = statement<never, [agentId: string, sandboxIds: readonly string[]]>(
  'note-source-lost',
  `update sandbox_copies set is_source_lost = true
   where agent_id = $1 and sandbox_id = any($2) and state = 'stored' and not is_source_lost`,
)

/**
 * Ends copies that do not hold their sandboxes, although their rows say so: the database was restored from a backup. Such
 * a copy is older than the sandbox.
 */
export const endStaleCopies = statement<{ id: string }, [agentId: string, sandboxIds: readonly string[]]>(
  'end-stale-copies',
  `update sandbox_copies set state = 'ended', reason = 'the host does not know of it', ended_at = now()
   where agent_id = $1 and sandbox_id = any($2) and state = 'stored' and stored_at < now() - interval '1 minute'
   returning id`,
)

/** Copies that something can be done for now. Stored ones only if there is no object store any more. */
export const unsettledCopies = statement<{ id: string }, [limit: number, agents: readonly string[], hasStore: boolean]>(
  'unsettled-copies',
  `select id from sandbox_copies
   where not is_settled and (state <> 'stored' or not $3::boolean) and created_at <= now() - interval '1 second' and (agent_id = any($2)
     or agent_id in (select id from agents where retired_at is not null))
   order by created_at limit $1`,
)

/** Days for which copies are kept that have ended. */
const KEPT_DAYS = 90

export const removeOldCopies = statement<never, []>(
  'remove-old-copies',
  `delete from sandbox_copies where is_settled and ended_at < now() - interval '${KEPT_DAYS} days'`,
)

/** For the gauge of copies, by state. `unproven`: no host takes them over ({@link IS_PROVEN}). */
export const countCopies = statement<{ status: string; count: number }, []>(
  'count-copies',
  `select case when ${IS_PROVEN} then c.state else 'unproven' end as status, count(*) as count
   from sandbox_copies c where c.ended_at is null group by 1`,
)
