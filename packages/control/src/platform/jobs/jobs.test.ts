import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@offshoot/kit/free-port'
import { serviceProgram } from '@offshoot/kit/test/service-program'
import { Pool } from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { call, eventually } from '../../test/harness.ts'
import { startMigratedPostgres, type TestPostgres } from '../../test/postgres.ts'
import { outliveBrokenConnections } from '../db/outlive-broken-connections.ts'
import { ProcessLock } from '../db/process-lock.ts'
import { Jobs } from './jobs.ts'
import { lane, type TaskRun } from './task.ts'

/** Seconds for which processes are killed again and again. By default, there are {@link KILLS} kills. */
const SECONDS = Number(process.env['OFFSHOOT_JOBS_SECONDS'] ?? 0)
const KILLS = 3
const JOBS = 100

let postgres: TestPostgres
let pool: Pool
let folder: string
const children = new Set<ChildProcess>()

beforeAll(async () => {
  postgres = await startMigratedPostgres()
  pool = new Pool({ ...postgres, database: 'postgres' })
  outliveBrokenConnections(pool)
  folder = await mkdtemp(join(tmpdir(), 'offshoot-jobs-'))
})

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await pool.end()
  await postgres.stop('SIGINT')
  await rm(folder, { recursive: true })
})

async function start(): Promise<ChildProcess> {
  const listen = { host: '127.0.0.1', port: await findFreePort() }
  const url = `http://127.0.0.1:${listen.port}`
  const { host, port, user, password } = postgres
  const database = { host, port, user, password, database: 'postgres' }
  const config = { listen, public_url: url, database, agents: [], data_dir: folder, commit: 'abc', log_level: 'error' }
  const path = join(folder, `${listen.port}.json`)
  await writeFile(path, JSON.stringify(config))
  const main = serviceProgram('control', fileURLToPath(new URL('../../main.ts', import.meta.url)))
  const child = spawn(process.execPath, [main, path], { stdio: 'inherit' })
  children.add(child)
  await eventually(() => call(url, 'GET', '/healthz').catch(() => null))
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  children.delete(child)
}

/** Deleted workspaces, due within two seconds. Each removal writes one audit entry in its transaction. */
async function addWork(): Promise<void> {
  await pool.query(
    `insert into organization (name, slug, "createdAt", deletion_due_at)
     select 'gone', gen_random_uuid()::text, now(), now() + random() * interval '2 seconds' from generate_series(1, $1)`,
    [JOBS],
  )
}

async function terminate(backends: string): Promise<void> {
  await pool.query(`select pg_terminate_backend(pid) from ${backends}`)
}

async function count(query: string): Promise<number> {
  return Number((await pool.query(`select count(*) from ${query}`)).rows[0].count)
}

describe('engines whose connections break', () => {
  const TASK = 'wait-for-test'
  let runs: TaskRun[]
  let gates: Map<string, PromiseWithResolvers<void>>
  let locks: ProcessLock[]
  let engines: Jobs[]

  beforeEach(() => {
    runs = []
    gates = new Map()
    locks = []
    engines = []
  })

  afterEach(async () => {
    for (const { resolve } of gates.values()) resolve()
    for (const engine of engines) engine.stop()
    await Promise.all(engines.map((engine) => engine.finished()))
    await Promise.all(locks.map((lock) => lock.release()))
    await pool.query('delete from graphile_worker._private_jobs')
  })

  /** Its jobs note that they ran, and wait if a test holds them. */
  async function engine(pollMs = 100): Promise<Jobs> {
    const { host, port, user, password } = postgres
    const address = { host, port, user, password, database: 'postgres' }
    const lock = await ProcessLock.take(address)
    const lanes = [lane('test', [{ name: TASK, due: async () => [], work }], { pollMs })]
    const started = new Jobs({ address, lock, log: pino({ level: 'silent' }), lanes })
    locks.push(lock)
    engines.push(started)
    await eventually(async () => (await count(`pg_stat_activity where query like 'LISTEN%'`)) >= engines.length * 2)
    return started
  }

  async function work(run: TaskRun): Promise<void> {
    runs.push(run)
    await gates.get(`${run.id}-${runsOf(run.id)}`)?.promise
  }

  const runsOf = (id: string) => runs.filter((run) => run.id === id).length

  /** Holds the nth run of a job. */
  function hold(id: string, nth: number): PromiseWithResolvers<void> {
    const gate = Promise.withResolvers<void>()
    gates.set(`${id}-${nth}`, gate)
    return gate
  }

  const add = (id: string, task = TASK) =>
    pool.query(`select graphile_worker.add_job($1, json_build_object('id', $2::text), job_key := $1 || ':' || $2)`, [
      task,
      id,
    ])
  const left = () => count(`graphile_worker.jobs where task_identifier = '${TASK}'`)

  it('leaves a job of a task that only another version knows', async () => {
    await engine()
    await add('new', 'task-of-a-newer-version')
    await add('known')
    await eventually(async () => runsOf('known') === 1 && (await left()) === 0)
    const { rows } = await pool.query(
      `select attempts, locked_at, last_error from graphile_worker.jobs where task_identifier = 'task-of-a-newer-version'`,
    )
    expect(rows).toEqual([{ attempts: 0, locked_at: null, last_error: null }])
  })

  it('runs a job that was added while no connection listened', async () => {
    // So seldom that the test does not wait for it.
    await engine(600_000)
    await terminate(`pg_stat_activity where query like 'LISTEN%'`)
    await add('unheard')
    await eventually(async () => runsOf('unheard') === 1 && (await left()) === 0)
    await add('heard')
    await eventually(async () => runsOf('heard') === 1 && (await left()) === 0)
  })

  it(
    'aborts the jobs of a process that lost its lock, and leaves their end to the process that runs them again',
    { tags: ['faults'] },
    async () => {
      const [first, second] = [hold('a', 1), hold('a', 2)]
      const old = await engine()
      await add('a')
      await eventually(() => runsOf('a') === 1)
      await engine()
      await terminate(`pg_locks where locktype = 'advisory' and classid = ${ProcessLock.PROCESS}
      and objid = ${locks[0]?.number}`)
      await eventually(() => runs[0]?.signal.aborted === true && runsOf('a') === 2)
      expect(runs[1]?.signal.aborted).toBe(false)
      engines = engines.filter((each) => each !== old)
      old.stop()
      first.resolve()
      await old.finished()
      expect(await left()).toBe(1)
      second.resolve()
      await eventually(async () => (await left()) === 0)
      expect(runsOf('a')).toBe(2)
    },
  )

  it.each(['SIGINT', 'SIGQUIT'] as const)(
    'runs all jobs after a restart of PostgreSQL by %s, also those that ran meanwhile',
    { tags: ['faults'] },
    async (signal) => {
      const held = hold('running', 1)
      await engine()
      await add('running')
      await eventually(() => runsOf('running') === 1)
      await pool.query(
        `select graphile_worker.add_job($1, '{"id": "waiting"}', run_at := now() + interval '1 second')`,
        [TASK],
      )
      await postgres.restart(signal)
      await eventually(() => runs[0]?.signal.aborted === true)
      held.resolve()
      await eventually(async () => (await left()) === 0)
      expect([runsOf('running'), runsOf('waiting')]).toEqual([2, 1])
    },
  )

  it(
    'takes its jobs up in a restored database that gives the process the number that it had',
    { tags: ['faults'] },
    async () => {
      const held = hold('a', 1)
      await engine()
      await add('a')
      await eventually(() => runsOf('a') === 1)
      const [lock] = locks
      await pool.query(`alter sequence control_process_numbers restart with ${lock?.number}`)
      await terminate(`pg_locks where locktype = 'advisory' and classid = ${ProcessLock.PROCESS}`)
      await eventually(() => runs[0]?.signal.aborted === true)
      held.resolve()
      await eventually(async () => runsOf('a') === 2 && (await left()) === 0)
    },
  )
})

it(
  'does every job, and none twice, while one of two processes is killed again and again',
  { tags: ['faults'], timeout: 60_000 + SECONDS * 2_000 },
  async () => {
    let [killed, other] = [await start(), await start()]
    const endsAtMs = performance.now() + SECONDS * 1000
    let added = 0
    for (let kills = 0; SECONDS === 0 ? kills < KILLS : performance.now() < endsAtMs; kills += 1) {
      await addWork()
      added += JOBS
      const before = await count(`audit_log where action = 'org.emptied'`)
      await eventually(async () => (await count(`audit_log where action = 'org.emptied'`)) > before)
      await kill(killed)
      ;[killed, other] = [other, await start()]
    }
    await eventually(async () => (await count('organization where deletion_due_at is not null')) === 0)
    expect(await count(`audit_log where action = 'org.emptied'`)).toBe(added)
    expect(
      await count(`(select from audit_log where action = 'org.emptied' group by target having count(*) > 1) x`),
    ).toBe(0)
    await eventually(async () => (await count(`graphile_worker.jobs where task_identifier = 'empty-org'`)) === 0)
  },
)

it('does at its start what became due while no process ran, also without a job', { tags: ['faults'] }, async () => {
  for (const child of children) await kill(child)
  await addWork()
  await pool.query(`select graphile_worker.complete_jobs(array(select id from graphile_worker.jobs where id % 2 = 0))`)
  await pool.query(`update organization set deletion_due_at = now() where deletion_due_at is not null`)
  await pool.query(`select graphile_worker.complete_jobs(array(select id from graphile_worker.jobs where id % 2 = 0))`)
  await start()
  await eventually(async () => (await count('organization where deletion_due_at is not null')) === 0)
  expect(await count('organization where deletion_due_at is not null')).toBe(0)
})
