import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@offshoot/kit/free-port'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, eventually } from '../../test/harness.ts'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'
import { outliveBrokenConnections } from '../db/outlive-broken-connections.ts'

/** Seconds for which processes are killed again and again. By default, there are {@link KILLS} kills. */
const SECONDS = Number(process.env['OFFSHOOT_JOBS_SECONDS'] ?? 0)
const KILLS = 3
const JOBS = 100

let postgres: TestPostgres
let pool: Pool
let folder: string
const children = new Set<ChildProcess>()

beforeAll(async () => {
  postgres = await startPostgres()
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
  const main = fileURLToPath(new URL('../../main.ts', import.meta.url))
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

async function count(query: string): Promise<number> {
  return Number((await pool.query(`select count(*) from ${query}`)).rows[0].count)
}

it(
  'does every job, and none twice, while one of two processes is killed again and again',
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
  60_000 + SECONDS * 2_000,
)

it('does at its start what became due while no process ran, also without a job', async () => {
  for (const child of children) await kill(child)
  await addWork()
  await pool.query(`select graphile_worker.complete_jobs(array(select id from graphile_worker.jobs where id % 2 = 0))`)
  await pool.query(`update organization set deletion_due_at = now() where deletion_due_at is not null`)
  await pool.query(`select graphile_worker.complete_jobs(array(select id from graphile_worker.jobs where id % 2 = 0))`)
  await start()
  await eventually(async () => (await count('organization where deletion_due_at is not null')) === 0)
  expect(await count('organization where deletion_due_at is not null')).toBe(0)
})
