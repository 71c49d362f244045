import type { JobState } from '@offshoot/contract/operator'
import { statement } from '../db/statement.ts'
import { ProcessLock } from '../db/process-lock.ts'

/** Begins the name under which the workers of process number n lock jobs: `control-<n>-<random>`. */
export const WORKER_PREFIX = 'control-'

/** Numbers of the living control processes. */
export const livingProcesses = statement<{ numbers: number[] }, []>(
  'living-processes',
  `select coalesce(json_agg(objid::bigint order by objid), '[]') as numbers from pg_locks
   where locktype = 'advisory' and granted and classid = ${ProcessLock.PROCESS}::oid and objsubid = 2
     and database = (select oid from pg_database where datname = current_database())`,
)

/** Tells the lanes of all processes to look for jobs. The engine itself tells of added jobs only. */
export const NOTIFY = `pg_notify('jobs:insert', '{"count":1}')`

/** Milliseconds until the next job of some tasks is due, if it is within `ms`. */
export const nextDue = statement<{ ms: number }, [names: readonly string[], ms: number]>(
  'next-due-job',
  `select greatest(0, extract(epoch from run_at - now()) * 1000)::float8 as ms from graphile_worker._private_jobs
   where is_available and priority = 0 and run_at <= now() + make_interval(secs => $2::float8 / 1000)
     and task_id in (select id from graphile_worker._private_tasks where identifier = any($1))
   order by run_at limit 1`,
)

/** Releases the jobs that workers of dead processes hold. */
export const unlockDead = statement<never, []>(
  'unlock-jobs-of-dead-processes',
  `with held as (
     select locked_by from graphile_worker.jobs where locked_by is not null
     union select locked_by from graphile_worker._private_job_queues where locked_by is not null
   )
   select graphile_worker.force_unlock_workers(array_agg(locked_by)), ${NOTIFY} from held
   where locked_by like '${WORKER_PREFIX}%' and not exists (
     select from pg_locks l where l.locktype = 'advisory' and l.granted
       and l.database = (select oid from pg_database where datname = current_database())
       and l.classid = ${ProcessLock.PROCESS}::oid and l.objid = split_part(locked_by, '-', 2)::oid and l.objsubid = 2)
   having count(*) > 0`,
)

/** Releases the jobs of workers that have ended. */
export const unlockWorkers = statement<never, [names: readonly string[]]>(
  'unlock-jobs-of-workers',
  `select graphile_worker.force_unlock_workers($1), ${NOTIFY}`,
)

/** Adds the job of a recurring task; leaves one that is due earlier. */
export const addRecurring = statement<never, [name: string, afterMs: number]>(
  'add-recurring-job',
  `select from graphile_worker.add_job($1, '{}', queue_name := $1, job_key := $1, job_key_mode := 'preserve_run_at',
     run_at := now() + make_interval(secs => $2::float8 / 1000))`,
)

/** Runs a recurring task soon, after the transaction has ended. */
export const wakeJob = statement<never, [name: string]>('wake-job', 'select wake_job($1)')

/** Adds a job if there is none with this key, whatever its state. An id is empty for a recurring task. */
export const addMissing = statement<{ id: string }, [names: readonly string[], ids: readonly string[]]>(
  'add-missing-jobs',
  `select (graphile_worker.add_job(task, case subject when '' then '{}'::json else json_build_object('id', subject) end,
     queue_name := case subject when '' then task end, job_key := key, job_key_mode := 'unsafe_dedupe')).id::text as id
   from (select task, subject, concat_ws(':', task, nullif(subject, '')) as key
         from unnest($1::text[], $2::text[]) as given (task, subject)) missing
   where not exists (select from graphile_worker.jobs j where j.key = missing.key)`,
)

/** Attempts at which the engine's own backoff has reached its longest, and below the number after which it gives up. */
const LONGEST_ATTEMPTS = 15

/** Keeps failing jobs of these tasks retrying: the engine alone would wait for hours, and give up after 25 attempts. */
export const keepRetrying = statement<never, [names: readonly string[], maxBackoffSeconds: number]>(
  'keep-retrying-jobs',
  `select from graphile_worker.reschedule_jobs(
     (select array_agg(id) from graphile_worker.jobs
      where last_error is not null and locked_at is null and task_identifier = any($1)
        and (attempts > ${LONGEST_ATTEMPTS} or run_at > now() + make_interval(secs => $2))
        and attempts < max_attempts),
     run_at := now() + make_interval(secs => $2), attempts := ${LONGEST_ATTEMPTS})`,
)

/**
 * Removes jobs that were replaced while they ran, and whose run then failed or was interrupted. The engine takes the
 * key of such a job away and gives it no further attempt.
 */
export const removeReplaced = statement<never, []>(
  'remove-replaced-jobs',
  `select from graphile_worker.complete_jobs(
     array(select id from graphile_worker.jobs where key is null and locked_at is null and attempts >= max_attempts))`,
)

/**
 * SQL of a job's state. `failed` jobs have no attempt left. A job that failed and is tried again is `retrying`, also
 * while it waits for its time.
 */
export const JOB_STATE = `case when locked_at is not null then 'running' when attempts >= max_attempts then 'failed'
  when last_error is not null then 'retrying' else 'waiting' end`

/** For the metrics. `late_seconds`: of the oldest job that is due and has not begun. */
export const countJobs = statement<{ task: string; state: JobState; count: number; late_seconds: number }, []>(
  'count-jobs',
  `select task_identifier as task, ${JOB_STATE} as state, count(*)::integer as count,
     greatest(0, extract(epoch from now() - min(run_at) filter (where locked_at is null and attempts < max_attempts)))::float8
       as late_seconds
   from graphile_worker.jobs group by 1, 2`,
  { notNull: ['task'] },
)
