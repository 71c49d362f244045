import { ProcessLock } from '../platform/db/process-lock.ts'
import { statement } from '../platform/db/statement.ts'

export interface FleetAuthorityRow {
  /** Counts the changes of what the fleet trusts, and of who signs. */
  readonly version: number
  /** Of the authority that signs. */
  readonly certificate: string
  /** Sealed. */
  readonly key: Buffer
  /** Of the one beside it, which the fleet trusts as well; `null`: there is none. */
  readonly other_certificate: string | null
  /** Whether the other one is new: then it has a key. Otherwise it is the old one. */
  readonly is_other_new: boolean
}

export const fleetAuthority = statement<FleetAuthorityRow, []>(
  'fleet-authority',
  `select version, certificate, key, other_certificate, other_key is not null as is_other_new from fleet_authority`,
)

export const fleetAuthorityVersion = statement<{ version: number }, []>(
  'fleet-authority-version',
  'select version from fleet_authority',
)

/** Another process may have made the authority meanwhile: then its authority stays. */
export const insertFleetAuthority = statement<never, [certificate: string, key: Buffer]>(
  'insert-fleet-authority',
  'insert into fleet_authority (certificate, key) values ($1, $2) on conflict (is_only) do nothing',
)

/** The fleet trusts a new authority, too. No row: none signs yet, or there are two already. */
export const introduceAuthority = statement<{ version: number }, [certificate: string, key: Buffer]>(
  'introduce-authority',
  `update fleet_authority set version = version + 1, other_certificate = $1, other_key = $2
   where other_certificate is null returning version`,
)

/**
 * The next step of a rotation: a new authority signs from now on, and an old one is trusted no more. Its key goes with
 * the first. No row: there is no other authority, or another process has taken this step.
 */
export const advanceAuthority = statement<{ version: number }, [from: number]>(
  'advance-authority',
  `update fleet_authority set version = version + 1,
     certificate = case when other_key is null then certificate else other_certificate end,
     key = coalesce(other_key, key),
     other_certificate = case when other_key is null then null else certificate end,
     other_key = null
   where version = $1 and other_certificate is not null returning version`,
)

/** Which version a process uses, until it says so again or the time is over. */
export const reportVersion = statement<never, [role: string, id: string, version: number, seconds: number]>(
  'report-certificate-version',
  `insert into certified_processes (role, id, version, until)
   values ($1, $2, $3, now() + make_interval(secs => $4::int))
   on conflict (role, id) do update set version = excluded.version, until = excluded.until`,
)

export const removeOldReports = statement<never, []>(
  'remove-old-certificate-versions',
  'delete from certified_processes where until < now()',
)

/** Hosts that have not shown a certificate of this version. */
export const hostsToLookAt = statement<{ id: string }, [version: number]>(
  'hosts-with-old-certificates',
  'select id from joined_hosts where shown_version < $1 order by id',
)

export const noteShownVersion = statement<never, [id: string, version: number]>(
  'note-shown-version',
  'update joined_hosts set shown_version = $2 where id = $1',
)

interface Waited {
  readonly kind: 'host' | 'edge' | 'control'
  readonly id: string
  readonly is_lost: boolean
  readonly total: number
}

/**
 * Those that do not use this version yet: hosts that have joined, edges, and control processes that live. One of an
 * earlier version of control reports nothing.
 */
export const waitedFor = statement<Waited, [version: number, limit: number]>(
  'waited-for-certificates',
  `with waited (kind, id, is_lost) as (
     select 'host', j.id::text, a.lost_at is not null from joined_hosts j left join agents a on a.id = j.id::text
     where j.shown_version < $1
     union all
     select 'edge', id, false from certified_processes where role = 'edge' and until > now() and version < $1
     union all
     select 'control', l.objid::bigint::text, false from pg_locks l
     left join certified_processes p on p.role = 'control' and p.id = l.objid::bigint::text
     where l.locktype = 'advisory' and l.granted and l.classid = ${ProcessLock.PROCESS}::oid and l.objsubid = 2
       and l.database = (select oid from pg_database where datname = current_database())
       and coalesce(p.version, -1) < $1
   )
   select kind, id, is_lost, (count(*) over ())::int as total from waited order by kind, id limit $2`,
)
