import { statement } from '../db/statement.ts'

export interface SealingKeyRow {
  readonly version: number
  readonly sealed: Buffer
  readonly created_at: Date
  readonly active_at: Date
  readonly is_active: boolean
  /** No value names an older key any more. */
  readonly is_resealed: boolean
}

export const sealingKeys = statement<SealingKeyRow, []>(
  'sealing-keys',
  `select version, sealed, created_at, active_at, active_at <= now() as is_active, resealed_at is not null as is_resealed
   from sealing_keys order by version`,
)

/** No row: another process has just inserted this version, or the newest key is not active yet. */
export const insertSealingKey = statement<SealingKeyRow, [version: number, sealed: Buffer, activeAfterSeconds: number]>(
  'insert-sealing-key',
  `insert into sealing_keys (version, sealed, active_at)
   select $1::int, $2, now() + make_interval(secs => $3)
   where not exists (select from sealing_keys where active_at > now() or version >= $1::int)
   on conflict (version) do nothing
   returning version, sealed, created_at, active_at, false as is_active, false as is_resealed`,
)

export const resealKey = statement<never, [version: number, sealed: Buffer]>(
  'reseal-key',
  'update sealing_keys set sealed = $2 where version = $1',
)

/** No row: the key has not been active for that long, so another process may still seal with an older one. */
export const finishResealing = statement<{ version: number }, [version: number, activeForSeconds: number]>(
  'finish-resealing',
  `with finished as (
     update sealing_keys set resealed_at = now()
     where version = $1 and active_at < now() - make_interval(secs => $2)
       and not exists (select from sealing_keys newer where newer.version > $1)
     returning version
   ), removed as (delete from sealing_keys k using finished f where k.version < f.version)
   select version from finished`,
)
