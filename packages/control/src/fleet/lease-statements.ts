import type pg from 'pg'
import { statement } from '../platform/db/statement.ts'
import { transaction } from '../platform/db/transaction.ts'

/** SQL: the lease `l` has ended. Not known if the database was restored since: it may have been granted anew afterwards. */
export const LEASE_HAS_ENDED = 'l.ended_at is not null and l.ended_in = (select database_incarnation())'

/** A renewal that may be sent to the agent. */
interface Renewal {
  readonly generation: number
  readonly renewals: number
}

/**
 * Notes a renewal before it is sent. No row: the lease has ended, or the host is gone.
 * @param confirmed the number of the renewal that this process sent last, if the agent took it; else `null`. If no other
 *   process has sent one since, the agent has no lease with other seconds
 */
export const renewLease = statement<Renewal, [agentId: string, seconds: number, confirmed: number | null]>(
  'renew-host-lease',
  `insert into host_leases as l (agent_id, seconds)
   select id, $2 from agents where id = $1 and retired_at is null
   on conflict (agent_id) do update set renewals = l.renewals + 1, renewed_at = now(),
     is_confirmed = l.is_confirmed or coalesce(l.renewals = $3::int, false),
     seconds = case when l.renewals = $3::int then excluded.seconds else greatest(l.seconds, excluded.seconds) end
   where l.ended_at is null
   returning generation, renewals`,
)

/** A lease that may have ended. */
export interface SilentLease extends Pick<Renewal, 'renewals'> {
  readonly agent_id: string
  readonly seconds: number
  /** Of the database. */
  readonly incarnation: string
}

/** The leases of hosts that this process does not reach, and of those that are lost or gone. */
export const silentLeases = statement<SilentLease, [unreachable: readonly string[]]>(
  'silent-host-leases',
  `select l.agent_id, l.renewals, l.seconds, database_incarnation() as incarnation
   from host_leases l join agents a on a.id = l.agent_id
   where l.is_confirmed and not (${LEASE_HAS_ENDED})
     and (a.id = any($1) or a.lost_at is not null or a.retired_at is not null)`,
)

/** No row: it was renewed since, the host is heard again, or another process was first. */
export const endLease = statement<{ agent_id: string }, [agentId: string, renewals: number, incarnation: string]>(
  'end-host-lease',
  `update host_leases l set ended_at = now(), ended_in = database_incarnation()
   from agents a where a.id = l.agent_id and l.agent_id = $1 and l.renewals = $2 and l.is_confirmed
     and database_incarnation() = $3 and not (${LEASE_HAS_ENDED}) and (a.lost_at is not null or a.retired_at is not null)
   returning l.agent_id`,
)

/** SQL: something of the host of the lease `l` is being brought up elsewhere, or has been and the host still has it. */
const IS_UNSETTLED = `exists (select from sandbox_moves m where m.from_agent = l.agent_id
  and (m.left_behind = l.agent_id or (m.finished_at is null and m.state in ('copying', 'committed'))))`

/** Waits for those who bring something of the host up elsewhere ({@link holdEndedLease}), and keeps others away. */
export const lockEndedLease = statement<{ agent_id: string }, [agentId: string]>(
  'lock-ended-host-lease',
  'select agent_id from host_leases where agent_id = $1 and ended_at is not null for update',
)

/**
 * After {@link lockEndedLease}, so that it sees what they have written.
 * @param sandboxIds all that the host has
 */
export const reopenLease = statement<Renewal, [agentId: string, seconds: number, sandboxIds: readonly string[]]>(
  'reopen-host-lease',
  `update host_leases l set generation = l.generation + 1, renewals = l.renewals + 1, seconds = $2, is_confirmed = false,
     renewed_at = now(), ended_at = null, ended_in = null
   where l.agent_id = $1 and l.ended_at is not null and not ${IS_UNSETTLED}
     and not exists (select from sandboxes s where s.id = any($3::uuid[]) and s.agent_id <> l.agent_id)
   returning generation, renewals`,
)

/** The host needs no lease any more. */
export const dropLease = statement<never, [agentId: string]>(
  'drop-host-lease',
  `delete from host_leases l where l.agent_id = $1 and (l.ended_at is null or not ${IS_UNSETTLED})`,
)

/** A row: the host has a lease, or one that has ended. */
export const leaseOf = statement<{ agent_id: string }, [agentId: string]>(
  'host-lease',
  'select agent_id from host_leases where agent_id = $1',
)

/**
 * Keeps a lease ended until the transaction ends. Call this in the transaction that begins to bring a database of the
 * host up elsewhere. No row: the host may still run it.
 */
export const holdEndedLease = statement<{ agent_id: string }, [agentId: string]>(
  'hold-ended-host-lease',
  `select l.agent_id from host_leases l where l.agent_id = $1 and ${LEASE_HAS_ENDED} for share`,
)

/**
 * Grants a lease anew after its end, once the host has nothing that another one has taken over. `null`: not yet.
 * @param sandboxIds all that the host has
 */
export function grantAnew(
  pool: pg.Pool,
  agentId: string,
  seconds: number,
  sandboxIds: readonly string[],
): Promise<Renewal | null> {
  return transaction(pool, async (client) => {
    await lockEndedLease(client, agentId)
    const [renewal] = await reopenLease(client, agentId, seconds, sandboxIds)
    return renewal ?? null
  })
}

/** Gives the lease of a host up. @returns whether the host needs none from now on */
export async function giveUpLease(pool: pg.Pool, agentId: string): Promise<boolean> {
  // Only the process that leads the agent, which calls this, may give it one.
  if ((await leaseOf(pool, agentId)).length === 0) return true
  return transaction(pool, async (client) => {
    await lockEndedLease(client, agentId)
    await dropLease(client, agentId)
    return (await leaseOf(client, agentId)).length === 0
  })
}

/** For gauges. */
export const countLeases = statement<{ held: number; ended: number; oldest_seconds: number | null }, []>(
  'count-host-leases',
  `select count(*) filter (where l.ended_at is null)::int as held, count(*) filter (where l.ended_at is not null)::int as ended,
     max(extract(epoch from now() - l.renewed_at)) filter (where l.ended_at is null)::float8 as oldest_seconds
   from host_leases l join agents a on a.id = l.agent_id where a.retired_at is null`,
)
