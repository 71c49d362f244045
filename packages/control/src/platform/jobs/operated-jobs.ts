import type { JobState } from '@offshoot/contract/operator'
import { statement } from '../db/statement.ts'
import { type ListOrder, newestFirst } from '../http/page-of.ts'
import { JOB_STATE, NOTIFY } from './job-statements.ts'

export interface OperatedJobRow {
  /** The number as a UUID, so that a cursor is like that of every other list. */
  readonly id: string
  readonly job_id: string
  readonly task: string
  readonly state: JobState
  readonly subject: string | null
  readonly run_at: Date
  readonly attempts: number
  readonly max_attempts: number
  readonly error: string | null
  readonly created_at: Date
}

export const JOB_ORDER: ListOrder<OperatedJobRow> = newestFirst('jobs', 'jobs')

export const SELECT_JOBS = `select * from (
  select lpad(to_hex(id), 32, '0')::uuid as id, id::text as job_id, task_identifier as task, ${JOB_STATE} as state,
    nullif(split_part(key, ':', 2), '') as subject, run_at, attempts, max_attempts, last_error as error,
    date_trunc('milliseconds', created_at) as created_at
  from graphile_worker.jobs) jobs`

export const findJob = statement<{ id: string }, [id: string]>(
  'find-job',
  'select id::text as id from graphile_worker.jobs where id = $1::text::bigint',
)

/** No row: the job is running, or there is none. */
export const retryJob = statement<{ id: string }, [id: string]>(
  'retry-job',
  `select id::text as id from graphile_worker.reschedule_jobs(
     array(select id from graphile_worker.jobs where id = $1::text::bigint and locked_at is null), run_at := now(), attempts := 0)
   cross join ${NOTIFY}`,
)

/** No row: the job is running, or there is none. */
export const discardJob = statement<{ id: string }, [id: string]>(
  'discard-job',
  `select id::text as id from graphile_worker.complete_jobs(
     array(select id from graphile_worker.jobs where id = $1::text::bigint and locked_at is null))`,
)
