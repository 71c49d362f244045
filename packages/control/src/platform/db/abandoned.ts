import { ProcessLock } from './process-lock.ts'

/**
 * SQL that is true if a row's creation was abandoned: its creator's process has ended, or the creation exceeds its
 * deadline.
 *
 * @param row name of the table, which has the columns `creator` and `created_at`
 * @param deadlineSeconds the statement parameter with the longest time that a creation may take
 * @see ProcessLock for how a process is known to be alive
 */
export function isAbandoned(row: string, deadlineSeconds: `$${number}`): string {
  return `(${row}.created_at < now() - make_interval(secs => ${deadlineSeconds}) or ${hasNoCreator(row)})`
}

/** SQL that is true if the process that created the row has ended. */
export function hasNoCreator(row: string): string {
  return `not ${isAlive(`${row}.creator`)}`
}

/**
 * SQL that is true if a process with this number is alive. A process whose connection has just broken may not know yet
 * that it has lost its number, so what claims a row for a number asks PostgreSQL.
 */
export function isAlive(number: string): string {
  return `exists (
    select from pg_locks l where l.locktype = 'advisory' and l.granted
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = ${ProcessLock.PROCESS}::oid and l.objid = ${number}::int::oid and l.objsubid = 2
  )`
}
