import { ProcessLock } from './process-lock.ts'

/**
 * SQL that is true of a row in the making whose creator is gone, or has been at it for longer than it may.
 *
 * @param row name of its table, which has `creator` and `created_at`
 * @param deadlineSeconds the parameter that holds the longest that making one may take
 * @see ProcessLock for how a creator is seen to live
 */
export function isAbandoned(row: string, deadlineSeconds: `$${number}`): string {
  return `(${row}.created_at < now() - make_interval(secs => ${deadlineSeconds}) or ${hasNoCreator(row)})`
}

/** SQL that is true of a row whose creator is gone. */
export function hasNoCreator(row: string): string {
  return `not exists (
    select from pg_locks l where l.locktype = 'advisory' and l.granted
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = ${ProcessLock.PROCESS}::oid and l.objid = ${row}.creator::oid and l.objsubid = 2
  )`
}
