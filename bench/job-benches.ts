import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Control, startControl } from '@offshoot/control/control'
import { insertWorkspace } from '@offshoot/control/kinds/orgs/identity/membership-statements'
import { openDatabase } from '@offshoot/control/platform/db/database'
import { FakeAgent } from '@offshoot/control/test/fake-agent'
import { pino } from 'pino'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { configOf } from './limits-benches.ts'
import { type Figure, Samples } from './measure.ts'

const WAITING = 100_000
const EXPIRING = 400
/** Seconds over which the sandboxes expire. */
const EXPIRY_SECONDS = 20
const SETTLE_MS = 15_000
/** A whole minute: jobs with a time table run each minute. */
const IDLE_MS = 60_000

/** From a sandbox's expires_at until its agent is asked to delete it, while 100,000 others wait. */
export async function ttlLateness(offshoot: Offshoot): Promise<Record<string, Figure>> {
  return withControl(offshoot, async (control, agent) => {
    const { pool } = control.database
    const [workspace] = await insertWorkspace(pool, 'bench', 'bench')
    // The agent does not have these sandboxes, so they are failed ones, with which reconciliation has nothing to do.
    const insert = (count: number, expiresAt: string) =>
      pool.query<{ id: string; expires_at: Date }>({
        text: `insert into sandboxes (id, workspace_id, agent_id, creator, status, template, cpu, memory_mb, persistent,
             ttl_seconds, idle_timeout_seconds, expires_at)
           select gen_random_uuid(), $1, $2, 0, 'failed', 'base', 1, 128, false, 60, 60, ${expiresAt}
           from generate_series(1, $3) returning id, expires_at`,
        values: [workspace?.id, agent.state.agentId, count],
      })
    for (let inserted = 0; inserted < WAITING; inserted += 5_000) await insert(5_000, `now() + interval '1 day'`)
    const endedAtMs = new Map<string, number>()
    agent.onDelete = async (id) => {
      endedAtMs.set(id, Date.now())
      return undefined
    }
    const { rows } = await insert(
      EXPIRING,
      `now() + interval '5 seconds' + random() * interval '${EXPIRY_SECONDS} seconds'`,
    )
    await delay((5 + EXPIRY_SECONDS) * 1000)
    for (let waited = 0; endedAtMs.size < EXPIRING && waited < 30_000; waited += 100) await delay(100)
    const lateness = new Samples()
    for (const { id, expires_at: expiresAt } of rows) {
      const endedAt = endedAtMs.get(id)
      if (endedAt !== undefined) lateness.add(endedAt - expiresAt.getTime())
    }
    return { ttl_lateness_ms: lateness.figure('ms') }
  })
}

/** Transactions a second of a control process that nobody uses, beside one agent without sandboxes. */
export async function idleQueries(offshoot: Offshoot): Promise<Record<string, Figure>> {
  return withControl(offshoot, async ({ database: { pool } }) => {
    const count = async () => {
      const { rows } = await pool.query(
        `select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()`,
      )
      return Number(rows[0]?.count)
    }
    await delay(SETTLE_MS)
    const before = await count()
    await delay(IDLE_MS)
    const rate = new Samples()
    rate.add(((await count()) - before) / (IDLE_MS / 1000))
    return { jobs_idle_queries_per_s: rate.figure('1/s') }
  })
}

/** A control process on a new database, with an agent that is a fake. */
async function withControl<T>(
  offshoot: Offshoot,
  measure: (control: Control, agent: FakeAgent) => Promise<T>,
): Promise<T> {
  const config = await configOf(offshoot)
  const secret = await readFile(join(offshoot.dataDir, 'secrets/postgres-superuser'), 'utf8')
  const password = Buffer.from(secret, 'base64').toString('base64url')
  const server = openDatabase({ ...config.database, user: 'postgres', password, database: 'postgres' }, () => undefined)
  const name = `bench_jobs_${Date.now()}`
  await server.pool.query(`create database ${name} owner ${config.database.user}`)
  const agent = await FakeAgent.start()
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-jobs-bench-'))
  const control = await startControl(
    {
      ...config,
      database: { ...config.database, database: name },
      agents: [{ url: agent.url, secret: agent.secret }],
      data_dir: folder,
    },
    pino({ level: 'silent' }),
  )
  try {
    while (!control.fleet.agents.every(({ isReachable }) => isReachable)) await delay(10)
    return await measure(control, agent)
  } finally {
    await control.stop()
    await agent.kill()
    await rm(folder, { recursive: true })
    await server.pool.query(`drop database ${name} with (force)`)
    await server.close()
  }
}
