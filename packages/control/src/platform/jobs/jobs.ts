import { randomBytes, randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { DatabaseAddress } from '@offshoot/contract/database-address'
import {
  Logger as WorkerLogger,
  parseCronItems,
  run,
  type Runner,
  type WorkerEvents,
  type WorkerPool,
} from 'graphile-worker'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { clientConfig } from '../db/database.ts'
import { outliveBrokenConnections } from '../db/outlive-broken-connections.ts'
import type { ProcessLock } from '../db/process-lock.ts'
import {
  addMissing,
  addRecurring,
  keepRetrying,
  livingProcesses,
  removeReplaced,
  unlockDead,
  unlockWorkers,
  WORKER_PREFIX,
} from './job-statements.ts'
import { JobsPool } from './jobs-pool.ts'
import { lookAhead } from './look-ahead.ts'
import { type CronTask, type Lane, lane, runOnce, type Task, type TaskRun } from './task.ts'

/** Milliseconds between two looks for processes that died. */
const DEAD_LOOK_MS = 2_000
/** Milliseconds between two looks at the process's own number. */
const LOOK_MS = 1_000
/** Rows of one task for which one run of the repair adds jobs. */
const MAX_MISSING = 10_000
/** Connections in addition to the one with which each lane listens. */
const CONNECTIONS = 6
/** Milliseconds for which a worker waits for a connection. Long, because a worker that gets none ends its lane. */
const CONNECT_MS = 30_000
/** Milliseconds for which a lane that found no job does not look again, however many jobs are added for others. */
const REFETCH_MS = 100
/** Milliseconds for which a lane that has ended may clean up. A lost connection can leave the engine waiting for ever. */
const CLEAN_MS = 5_000
/** Milliseconds between two polls of the engine. */
const POLL_MS = 5_000
/** Seconds between the attempts of a job that fails again and again. */
const MAX_BACKOFF_SECONDS = 60
const REPAIR = 'add-missing-jobs'

export interface JobsOptions {
  readonly address: DatabaseAddress
  /** Its number tells other processes whether this one lives. */
  readonly lock: ProcessLock
  readonly log: Logger
  readonly lanes: readonly Lane[]
}

/** An engine that runs, and how many jobs it runs now. */
interface Running {
  readonly runner: Runner
  readonly jobs: () => number
}

/**
 * Runs the jobs of this process: one graphile-worker per lane (docs/jobs.md).
 *
 * Workers lock jobs under a name that contains the process's number ({@link ProcessLock}). Every process looks for
 * numbers that are gone and releases the jobs of those processes, so that others run them within seconds.
 */
export class Jobs {
  readonly #options: JobsOptions
  readonly #tasks: readonly Task[]
  readonly #pool: Pool
  readonly #stopped = new AbortController()
  readonly #running: Promise<unknown>

  constructor(options: JobsOptions) {
    const { address, log, lanes } = options
    this.#options = options
    const repair: CronTask = { name: REPAIR, cron: '* * * * *', run: () => this.#addMissing() }
    this.#tasks = [repair, ...lanes.flatMap(({ tasks }) => tasks)]
    const arranged = arrange(lanes, this.#tasks)
    // The types of graphile-worker's rows are those of `pg`, so this pool has no parsers of its own.
    this.#pool = new JobsPool({
      ...clientConfig(address),
      types: undefined,
      connectionTimeoutMillis: CONNECT_MS,
      max: arranged.length + CONNECTIONS,
    })
    outliveBrokenConnections(this.#pool, (error) => log.warn({ err: error }, 'idle connection of the jobs broke'))
    this.#running = Promise.all([this.#watch(), ...arranged.map((lane) => this.#keep(lane))])
  }

  /** Begins no further job. {@link finished} waits for the running ones. */
  stop(): void {
    this.#stopped.abort()
  }

  async finished(): Promise<void> {
    await this.#running
    await Promise.race([this.#pool.end(), delay(CLEAN_MS, undefined, { ref: false })])
  }

  /** Adds jobs for rows that are due and have none, for example because their agent has come back. */
  async addMissingSoon(): Promise<void> {
    await addRecurring(this.#pool, REPAIR, 0)
  }

  /** Runs a lane, and begins anew when the process lost its lock or the engine gave up. */
  async #keep(lane: Lane): Promise<void> {
    const { signal } = this.#stopped
    const { lock, log } = this.#options
    while (!signal.aborted) {
      const { number, held } = lock
      if (held === null) {
        await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
        continue
      }
      const ended = new AbortController()
      const until = AbortSignal.any([signal, ended.signal])
      try {
        const workers = `${WORKER_PREFIX}${number}-${randomBytes(6).toString('hex')}`
        const { runner, jobs } = await this.#start(lane, workers, held, ended, until)
        const over = runner.promise.finally(() => ended.abort())
        // Handled below; until then, a rejection must not end the process.
        over.catch(() => undefined)
        while (!until.aborted && lock.held === held) {
          await delay(LOOK_MS, undefined, { signal: until }).catch(() => undefined)
        }
        ended.abort()
        // The engine refuses this if it stops already.
        runner.stop().catch(() => undefined)
        try {
          await Promise.race([over, cleanedUp(jobs)])
        } finally {
          await unlockWorkers(this.#pool, [workers])
        }
      } catch (error) {
        if (!signal.aborted) log.error({ err: error, lane: lane.name }, 'jobs of a lane: begun anew')
      }
      if (!signal.aborted) await delay(LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #start(lane: Lane, name: string, held: object, ended: AbortController, until: AbortSignal): Promise<Running> {
    const events: WorkerEvents = new EventEmitter()
    let workers: WorkerPool | null = null
    let jobs = 0
    events.on('pool:create', ({ workerPool }) => {
      workers = workerPool
      workerPool.id = name
    })
    events.on('pool:gracefulShutdown', () => ended.abort())
    // The engine forgets notices that arrive within REFETCH_MS, and would look for their jobs only at its next poll.
    let isNotified = false
    const look = () => {
      isNotified = true
      workers?.nudge(1)
    }
    events.on('pool:listen:notification', () => (isNotified = true))
    const lookAfter = (ms: number) => void delay(ms, undefined, { signal: until }).then(look, () => undefined)
    // PostgreSQL keeps no notices for a lane whose connection is lost. The engine says that it listens before it does.
    events.on('pool:listen:success', () => lookAfter(LOOK_MS))
    events.on('localQueue:refetchDelay:expired', () => {
      if (isNotified) workers?.nudge(1)
      isNotified = false
    })
    for (const task of lane.tasks) {
      if ('recur' in task || task.name === REPAIR) await addRecurring(this.#pool, task.name, 0)
    }
    const runner = await run({
      pgPool: this.#pool,
      events,
      logger: this.#workerLog(),
      noHandleSignals: true,
      pollInterval: Math.max(POLL_MS, lane.pollMs),
      concurrency: lane.atOnce,
      preset: {
        worker: {
          localQueue: { size: lane.atOnce, refetchDelay: { durationMs: REFETCH_MS } },
          // Without batches, a failure to write a job's end is an unhandled rejection, which ends the process.
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      parsedCronItems: parseCronItems(
        lane.tasks
          .filter((task) => 'cron' in task)
          .map(({ name, cron }) => ({ task: name, match: cron, options: { jobKey: name, queueName: name } })),
      ),
      taskList: Object.fromEntries(
        lane.tasks.map((task) => [
          task.name,
          async (payload: unknown, { job }: { job: { attempts: number } }) => {
            const { id = '' } = payload as { id?: string }
            jobs += 1
            try {
              await this.#run(task, { id, requestId: randomUUID(), signal: until }, job, held, lookAfter)
            } finally {
              jobs -= 1
            }
          },
        ]),
      ),
    })
    if (lane.pollMs < POLL_MS) void lookAhead({ pool: this.#pool, lane, events, look, until })
    return { runner, jobs: () => jobs }
  }

  async #run(task: Task, given: TaskRun, job: { attempts: number }, held: object, lookAfter: (ms: number) => void) {
    try {
      const afterMs = await runOnce(task, given)
      // Another process may run the job by now, and the engine would remove it from under that process.
      if (this.#options.lock.held !== held) throw new Error('the process lost its lock while the job ran')
      if (afterMs === null) return
      await addRecurring(this.#pool, task.name, afterMs)
      lookAfter(afterMs)
    } catch (error) {
      const about = { task: task.name, id: given.id, req_id: given.requestId, attempts: job.attempts, err: error }
      this.#options.log.warn(about, 'job failed')
      throw error
    }
  }

  async #addMissing(): Promise<void> {
    const missing: (readonly [task: string, id: string])[] = []
    for (const task of this.#tasks) {
      if ('recur' in task) missing.push([task.name, ''])
      if ('work' in task) missing.push(...(await task.due(MAX_MISSING)).map(({ id }) => [task.name, id] as const))
    }
    await addMissing(
      this.#pool,
      missing.map(([task]) => task),
      missing.map(([, id]) => id),
    )
    await removeReplaced(this.#pool)
    const byBackoff = Map.groupBy(
      this.#tasks.filter((task) => !('cron' in task)),
      (task) => ('work' in task ? task.retrySeconds : undefined) ?? MAX_BACKOFF_SECONDS,
    )
    for (const [seconds, tasks] of byBackoff) {
      await keepRetrying(
        this.#pool,
        tasks.map(({ name }) => name),
        seconds,
      )
    }
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopped
    let known: readonly number[] | null = null
    while (!signal.aborted) {
      try {
        const living: readonly number[] = (await livingProcesses(this.#pool))[0]?.numbers ?? []
        if (known === null || known.some((number) => !living.includes(number))) await unlockDead(this.#pool)
        known = living
      } catch (error) {
        this.#options.log.warn({ err: error }, 'jobs of dead processes not released: trying again later')
      }
      await delay(DEAD_LOOK_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  #workerLog(): WorkerLogger {
    const { log } = this.#options
    // `#run` has logged the error of a job. What the engine says of itself at "error" means that a lane ended.
    return new WorkerLogger(() => (level, message, meta) => {
      const word: string = level
      if (word === 'error' && meta?.['failure'] !== true) log.warn({ err: meta?.['error'] }, message)
      else log.trace(message)
    })
  }
}

/**
 * Lanes of the same name become one. A task that has at most one job in the fleet cannot flood a lane, so all these tasks
 * share one with a worker for each: every further lane costs a connection and a poll.
 */
function arrange(lanes: readonly Lane[], tasks: readonly Task[]): readonly Lane[] {
  const single = tasks.filter((task) => !('work' in task))
  const shared = [...Map.groupBy(lanes, ({ name }) => name).values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    const ofRows = [first, ...others].flatMap((each) => each.tasks).filter((task) => 'work' in task)
    return ofRows.length === 0 ? [] : [{ ...first, tasks: ofRows }]
  })
  return [lane('single', single, { atOnce: single.length }), ...shared]
}

/** Ends when no job has run for some seconds. */
async function cleanedUp(jobs: () => number): Promise<void> {
  for (let idleMs = 0; idleMs < CLEAN_MS; idleMs = jobs() === 0 ? idleMs + LOOK_MS : 0) {
    await delay(LOOK_MS, undefined, { ref: false })
  }
}
