/** Seconds after which a job continues a removal that a request has begun. No request may take longer for it. */
export const LEASE_SECONDS = 150
/** Seconds until a job continues a removal that a request could not finish. */
export const RETRY_SECONDS = 5

/** One run of a task. */
export interface TaskRun {
  /** The row that the job is about; empty if the task is about no row. */
  readonly id: string
  readonly requestId: string
  /** Aborts when the process stops, or no longer holds the job. Another process may then run it again. */
  readonly signal: AbortSignal
}

/** Work that runs as jobs. A failed job is retried with backoff; an operator sees it in `GET /v1/admin/jobs`. */
export type Task = CronTask | RecurringTask | RowTask

interface AnyTask {
  /** Also the job's name for operators. Stored in the database: do not rename a released one. */
  readonly name: string
}

/** Runs at fixed times, once in the fleet. */
export interface CronTask extends AnyTask {
  /** Crontab pattern, UTC. */
  readonly cron: string
  readonly run: (run: TaskRun) => Promise<unknown>
}

/**
 * Runs again and again while there is something to do, one run at a time in the fleet. Between two runs its job waits.
 * Each minute, and when the SQL function `wake_job` is called with its name, it runs again.
 */
export interface RecurringTask extends AnyTask {
  /** @returns milliseconds until the next run; `null` if there is nothing to do */
  readonly recur: (run: TaskRun) => Promise<number | null>
}

/**
 * Runs once for a row at the time that the row's own columns tell. A trigger adds, moves and removes the row's job
 * together with that time. {@link due} finds rows whose job is missing, for example after a backup was restored.
 */
export interface RowTask extends AnyTask {
  /** Longest wait between two attempts. Default: a minute. */
  readonly retrySeconds?: number
  /** Ids of rows that are due and can be worked on now, the oldest first. */
  readonly due: (limit: number) => Promise<readonly { readonly id: string }[]>
  /** Ends without an error if the row is not due or cannot be worked on now; {@link due} finds it later. */
  readonly work: (run: TaskRun) => Promise<unknown>
}

/** @returns milliseconds until a recurring task runs again */
export async function runOnce(task: Task, given: TaskRun): Promise<number | null> {
  if ('recur' in task) return task.recur(given)
  await ('work' in task ? task.work(given) : task.run(given))
  return null
}

/** A lane whose jobs may begin some seconds late after a time that passes; one that is added now begins at once. */
export function lane(
  name: string,
  tasks: readonly Task[],
  settings: Partial<Pick<Lane, 'atOnce' | 'pollMs'>> = {},
): Lane {
  return { name, tasks, atOnce: 16, pollMs: 5_000, ...settings }
}

/** Tasks that share workers. A flood of jobs in one lane delays no other lane. Lanes of the same name are one. */
export interface Lane {
  readonly name: string
  /** Jobs that one process runs at the same time. */
  readonly atOnce: number
  /** Milliseconds by which a job whose time passes may begin late. */
  readonly pollMs: number
  readonly tasks: readonly Task[]
}
