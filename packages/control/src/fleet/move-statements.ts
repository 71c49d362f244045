import { statement } from '../platform/db/statement.ts'

export type MoveState = 'leaving' | 'copying' | 'committed' | 'done' | 'failed'

/** One attempt to move a sandbox to another host, with what its row says now. */
export interface MoveRow {
  readonly id: string
  readonly sandbox_id: string
  readonly workspace_id: string
  readonly from_agent: string
  /** `null`: no host fitted. */
  readonly to_agent: string | null
  readonly state: MoveState
  readonly was_running: boolean
  /** The hash of its bake, from `copying` on. */
  readonly bake: string | null
  /** The end of the source's log when the sandbox was leaving. */
  readonly source_seq: number | null
  /** The agent that still has to remove its copy. */
  readonly left_behind: string | null
  readonly finished_at: Date | null
  /** Since the commit. `null` before. */
  readonly committed_ms: number | null
  /** The agent that has the sandbox; `null`: the sandbox is gone. */
  readonly owner: string | null
  /** The stored copy that it is made from; `null`: its host has the sandbox. */
  readonly copy_id: string | null
  /** The backup that it is made from on the other host; `null`: it is none of a lost database. */
  readonly backup_id: string | null
  /** Whether its host has an archive of it: it is the VM of a database. */
  readonly has_archive: boolean
}

export const moveById = statement<MoveRow, [id: string]>(
  'move-by-id',
  `select m.id, m.sandbox_id, m.workspace_id, m.from_agent, m.to_agent, m.state, m.was_running, m.bake, m.source_seq,
     m.left_behind, m.finished_at, (extract(epoch from now() - m.committed_at) * 1000)::int as committed_ms,
     s.agent_id as owner, m.copy_id, m.backup_id, coalesce(s.managed_by = 'database', false) as has_archive
   from sandbox_moves m left join sandboxes s on s.id = m.sandbox_id where m.id = $1`,
)

/** SQL: a copy of the sandbox `s` in the object store is complete, and it may move. */
export const COPYABLE = `s.managed_by is null and s.volumes = '[]' and s.status in ('running', 'paused', 'hibernated')
  and s.deletion_due_at is null`

/** Why a sandbox stays where it is, whatever host it would move to: SQL, true if it may move. */
export const MOVABLE = `((${COPYABLE}) or (s.managed_by = 'database' and s.status in ('running', 'paused', 'hibernated')
  and exists (select from databases d where d.id = s.id and d.status = 'ready')))`

/**
 * Waits for whoever cancels the drain. No row: the host is not drained any more, another move is under way, or the
 * sandbox has changed.
 */
export const beginMove = statement<{ id: string }, [sandboxId: string, fromAgent: string, toAgent: string]>(
  'begin-move',
  `insert into sandbox_moves (sandbox_id, workspace_id, from_agent, to_agent, state, was_running)
   select s.id, s.workspace_id, s.agent_id, $3, 'leaving', s.status = 'running'
   from sandboxes s join agents a on a.id = s.agent_id
   where s.id = $1 and s.agent_id = $2 and ${MOVABLE} and a.drain_begun_at is not null and a.drain_ended_at is null
   for share of a
   on conflict do nothing returning id`,
)

/** No host fits the sandbox. */
export const recordUnplaced = statement<never, [sandboxId: string, fromAgent: string, reason: string]>(
  'record-unplaced-move',
  `insert into sandbox_moves (sandbox_id, workspace_id, from_agent, state, reason, finished_at)
   select id, workspace_id, agent_id, 'failed', $3, now() from sandboxes where id = $1 and agent_id = $2`,
)

/** The source refuses to wake the sandbox from now on. No row: the move was given up meanwhile. */
export const noteLeft = statement<{ id: string }, [id: string, bake: string, bytes: number, sourceSeq: number]>(
  'note-left',
  `update sandbox_moves set state = 'copying', bake = $2, bytes = $3, source_seq = $4
   where id = $1 and state = 'leaving' returning id`,
)

/** SQL: until the commit, a move may be given up. The destination may have the copy by then. */
const GIVEN_UP = `state = 'failed', reason = $2, left_behind = case when state = 'copying' then to_agent end`
const MAY_BE_GIVEN_UP = `state in ('leaving', 'copying')`

/** No row: it is committed, or was given up before. */
export const giveUpMove = statement<{ id: string }, [id: string, reason: string, isFinal: boolean]>(
  'give-up-move',
  `update sandbox_moves set ${GIVEN_UP}, is_final = $3 where id = $1 and ${MAY_BE_GIVEN_UP} returning id`,
)

/** The moves of a drain of this host that are not committed yet. What comes back because the host was lost does not stop. */
export const giveUpMovesFrom = statement<{ id: string }, [agentId: string, reason: string]>(
  'give-up-moves-from',
  `update sandbox_moves set ${GIVEN_UP}
   where from_agent = $1 and ${MAY_BE_GIVEN_UP} and copy_id is null and backup_id is null returning id`,
)

/** Whether the copy is still wanted. */
export const isCopying = statement<{ id: string }, [id: string]>(
  'is-copying',
  `select m.id from sandbox_moves m join sandboxes s on s.id = m.sandbox_id and s.agent_id = m.from_agent
   where m.id = $1 and m.state = 'copying'`,
)

/** First half of the commit. No row: the move was given up. */
export const commitMove = statement<{ id: string }, [id: string, bytes: number | null]>(
  'commit-move',
  `update sandbox_moves set state = 'committed', committed_at = now(), bytes = coalesce($2, bytes)
   where id = $1 and state = 'copying' returning id`,
)

/**
 * Second half of the commit: the other agent has the sandbox from now on, and its records count from this number on. An
 * agent that had the sandbox before and has it again must not remove it. No row: the sandbox has failed or is gone, or the
 * host was removed.
 */
export const changeOwner = statement<
  { id: string },
  [sandboxId: string, fromAgent: string, toAgent: string, toSeq: number]
>(
  'change-owner',
  `with destination as (
     select id from agents where id = $3 and retired_at is null for share
   ), moved as (
     update sandboxes s set agent_id = destination.id, last_event_seq = $4, status = 'hibernated' from destination
     where s.id = $1 and s.agent_id = $2 and s.status not in ('creating', 'failed') returning s.id
   ), wanted as (
     delete from removed_objects r using moved where r.id = moved.id and r.agent_id = $3
   )
   select id from moved`,
)

/** The sandbox can be used at its new host. */
export const finishMove = statement<{ id: string }, [id: string]>(
  'finish-move',
  `update sandbox_moves set state = 'done', finished_at = now(), left_behind = from_agent
   where id = $1 and state = 'committed' returning id`,
)

/** The sandbox can be used at its old host again. */
export const finishFailedMove = statement<{ id: string }, [id: string]>(
  'finish-failed-move',
  `update sandbox_moves set finished_at = now() where id = $1 and state = 'failed' and finished_at is null returning id`,
)

/** The other copy is removed. */
export const noteCleaned = statement<never, [id: string]>(
  'note-cleaned-move',
  'update sandbox_moves set left_behind = null where id = $1 and left_behind is not null',
)

/** Moves that something can be done for now. @param agents the reachable agents */
export const unsettledMoves = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'unsettled-moves',
  `select m.id from sandbox_moves m
     cross join lateral (select case when m.finished_at is not null then m.left_behind
       when m.state = 'committed' then m.to_agent when m.copy_id is null and m.backup_id is null then m.from_agent end as id) needed
   where (m.finished_at is null or m.left_behind is not null) and not (m.backup_id is not null and m.state = 'copying') and (needed.id is null or needed.id = any($2)
     or needed.id in (select id from agents where retired_at is not null))
   order by m.created_at limit $1`,
)

/** Minutes for which a comparison of an agent's list with the rows may still be based on what was before a move. */
const REMEMBERED_MINUTES = 5

/** SQL: the hosts and the row need not agree on the sandbox `$`. */
export const isUnderWay = (
  sandbox: string,
): string => `exists (select from sandbox_moves m where m.sandbox_id = ${sandbox}
  and (m.finished_at is null or m.left_behind is not null
    or m.finished_at > now() - interval '${REMEMBERED_MINUTES} minutes'))`

/** Those of the sandboxes that move, or moved just now. */
export const movingAmong = statement<{ id: string }, [ids: readonly string[]]>(
  'moving-among',
  `select given.id from unnest($1::uuid[]) as given (id) where ${isUnderWay('given.id')}`,
)

/** Those of the moves and copies that have ended, so that no agent should wait for their end. */
export const endedMoves = statement<{ id: string; is_elsewhere: boolean }, [ids: readonly string[]]>(
  'ended-moves',
  `select id, state = 'done' as is_elsewhere from sandbox_moves
   where id = any($1) and finished_at is not null and left_behind is null
   union all
   select c.id, c.state = 'taken' from sandbox_copies c where c.id = any($1) and c.is_settled
     and not exists (select from sandbox_moves m
       where m.copy_id = c.id and (m.finished_at is null or m.left_behind is not null))`,
)

export const knownMoves = statement<{ id: string }, [ids: readonly string[]]>(
  'known-moves',
  `select id from sandbox_moves where id = any($1) union all select id from sandbox_copies where id = any($1)`,
)

/** Days for which moves are kept. */
const KEPT_DAYS = 90

export const removeOldMoves = statement<never, []>(
  'remove-old-moves',
  `delete from sandbox_moves where left_behind is null and finished_at < now() - interval '${KEPT_DAYS} days'`,
)

/** For the gauge of moves under way, by state. */
export const countMoves = statement<{ status: string; count: number }, []>(
  'count-moves',
  'select state as status, count(*) as count from sandbox_moves where finished_at is null group by state',
)
