import type { HostLabels } from '@offshoot/contract/host-label'
import { statement } from '../platform/db/statement.ts'
import { tellOrphaned } from './tell-orphaned.ts'

/**
 * Inserts or updates an agent that has answered. Keeps its cursor, its labels, and whether it is cordoned. A new one gets
 * the labels, the zone and the time with which its host joined.
 *
 * No row: `mustHaveJoined`, and an operator has removed the host. The lock makes this statement and a removal, or a
 * change of the labels, run one after the other.
 */
export const upsertAgent = statement<
  { is_cordoned: boolean; labels: HostLabels; zone: string | null },
  [id: string, url: string, info: string, mustHaveJoined: boolean]
>(
  'upsert-agent',
  `with joined as (select labels, zone, created_at from joined_hosts where id::text = $1 for share)
   insert into agents (id, url, info, labels, zone, created_at)
   select $1, $2, $3, coalesce(joined.labels, '{}'), joined.zone, coalesce(joined.created_at, now())
   from (select 1) always left join joined on true
   where not $4::boolean or joined.created_at is not null
   on conflict (id) do update set url = excluded.url, info = excluded.info, seen_at = now(), retired_at = null,
     removed_reason = null
   returning cordoned_at is not null as is_cordoned, labels, zone`,
)

export const agentCursor = statement<{ cursor: number }, [id: string]>(
  'agent-cursor',
  'select cursor from agents where id = $1',
)

/** The position up to which the rows follow each agent's log. */
export const agentCursors = statement<{ id: string; cursor: number }, []>(
  'agent-cursors',
  'select id, cursor from agents',
)

/** Blocks every other process that wants to apply this agent's records, until the transaction ends. */
export const lockAgentCursor = statement<{ cursor: number }, [id: string]>(
  'lock-agent-cursor',
  'select cursor from agents where id = $1 for update',
)

/**
 * The same for records of several agents; new sandboxes may refer to the rows meanwhile. Updates of sandboxes in the
 * transaction notify nobody: {@link tellChangedSandboxes} does, after the transaction. The fixed order prevents
 * deadlocks.
 */
export const lockCursorsForRecords = statement<
  { id: string; cursor: number; tells_later: string | null },
  [ids: readonly string[]]
>(
  'lock-cursors-for-records',
  `select id, cursor, set_config('offshoot.tells_later', 'on', true) as tells_later from agents where id = any($1)
   order by id for no key update`,
)

export const tellChangedSandboxes = statement<{ told: boolean | null }, [ids: readonly string[]]>(
  'tell-changed-sandboxes',
  'select tell_changed_sandboxes($1) as told',
)

/** An empty notification: anything may have changed. */
export const tellEverything = statement<{ told: boolean | null }, []>(
  'tell-everything',
  `select pg_notify('changes', '') is null as told`,
)

/** @param cursors as many as ids */
export const setAgentCursors = statement<never, [ids: readonly string[], cursors: readonly number[]]>(
  'set-agent-cursors',
  `update agents a set cursor = moved.cursor from unnest($1::text[], $2::bigint[]) as moved (id, cursor)
   where a.id = moved.id`,
)

/**
 * The agent's log now ends before the cursor: the log was lost, so the sequence numbers in the rows have no meaning any
 * more.
 */
export const forgetSequence = statement<never, [agentId: string]>(
  'forget-sequence',
  'update sandboxes set last_event_seq = 0 where agent_id = $1',
)

/** Another agent now answers at this address. */
export const retireOthers = statement<{ id: string }, [id: string, url: string]>(
  'retire-others',
  'update agents set retired_at = now() where url = $2 and id <> $1 and retired_at is null returning id',
)

/** An operator has removed its host; `reason`: although it had objects. Then its stored copies are the newest that is left of their sandboxes. */
export const retireAgent = statement<{ id: string }, [id: string, reason: string | null]>(
  'retire-agent',
  `with retired as (
     update agents set retired_at = now(), removed_reason = $2 where id = $1 and retired_at is null returning id
   ), proven as (
     update sandbox_copies c set incarnation = database_incarnation() from retired
     where c.agent_id = retired.id and c.state = 'stored'
   )
   select id from retired`,
)

/** More than the number of any record. */
export const AFTER_EVERY_RECORD = Number.MAX_SAFE_INTEGER

/**
 * Those with a stored copy stay as they are: another host takes them over.
 * @param untilSeq records and answers of the agents up to this number do not count any more, also if they arrive late
 */
export const failSandboxesOf = statement<{ id: string }, [agentIds: readonly string[], untilSeq: number]>(
  'fail-sandboxes-of',
  `with failed as (
     update sandboxes s set status = 'failed', last_event_seq = greatest(s.last_event_seq, $2)
     where s.agent_id = any($1) and s.status <> 'failed'
       and not exists (select from sandbox_copies c where c.sandbox_id = s.id and c.state = 'stored')
     returning s.id, s.workspace_id, s.managed_by
   ) ${tellOrphaned('the host of the VM was removed')}`,
)

/** No row: the agent is not retired. */
export const retiredAgent = statement<{ id: string }, [id: string]>(
  'retired-agent',
  'select id from agents where id = $1 and retired_at is not null',
)
