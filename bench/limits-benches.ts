import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import { controlConfig, type ControlConfig } from '@offshoot/contract/process-config'
import { applyRecords, batchOf } from '@offshoot/control/fleet/apply-records'
import { upsertAgent } from '@offshoot/control/fleet/agent-statements'
import { PostgresEvents } from '@offshoot/control/kinds/sandboxes/events/postgres-events'
import { meterRecords } from '@offshoot/control/kinds/billing/metering/meter-records'
import { startControl } from '@offshoot/control/control'
import type { Queryable } from '@offshoot/control/platform/db/statement'
import { type Database, openDatabase } from '@offshoot/control/platform/db/database'
import { createServer } from '@offshoot/control/server'
import { mintApiKey } from '@offshoot/control/kinds/orgs/identity/api-key'
import { insertApiKey } from '@offshoot/control/kinds/orgs/identity/api-key-statements'
import { insertMember, insertWorkspace } from '@offshoot/control/kinds/orgs/identity/membership-statements'
import { FakeAgent } from '@offshoot/control/test/fake-agent'
import type { Pool } from 'pg'
import { pino } from 'pino'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { type Figure, Samples } from './measure.ts'

const CONNECTIONS = 32
const READ_MS = 8_000
const HALF_LOAD_PER_S = 2_000
const RACE = 1_000
const LEDGER_SANDBOXES = 400
/** The maximum batch that an agent sends. */
const LEDGER_BATCH = 256
const OVERHEAD_ROUNDS = 2_000

/** Reads one sandbox repeatedly with a key: the rate, and the latency at half of the target load. */
export async function apiRead(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const { id } = await offshoot.create()
  const { base_url: url, api_key: key } = offshoot.credentials
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const read = () => get(agent, `${url}/v1/sandboxes/${id}`, key)
  try {
    const rates = new Samples()
    let done = 0
    const endsAt = performance.now() + READ_MS
    const startedAt = performance.now()
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        for (; performance.now() < endsAt; done += 1) await read()
      }),
    )
    rates.add((done * 1000) / (performance.now() - startedAt))
    const latencies = new Samples()
    const pending: Promise<unknown>[] = []
    const beganAt = performance.now()
    for (let sent = 0; performance.now() - beganAt < READ_MS;) {
      const due = ((performance.now() - beganAt) * HALF_LOAD_PER_S) / 1000
      for (; sent < due; sent += 1) pending.push(latencies.time(read))
      await delay(1)
    }
    await Promise.all(pending)
    return { api_read_rps: rates.figure('1/s'), api_read_half_load: latencies.figure('ms') }
  } finally {
    agent.destroy()
    await offshoot.delete(id)
  }
}

/** The cost of authentication: a route with a key, and one without; both answered from memory. */
export async function authOverhead(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const { base_url: url, api_key: key } = offshoot.credentials
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const [withKey, without] = [new Samples(), new Samples()]
  try {
    for (let round = 0; round < OVERHEAD_ROUNDS; round += 1) {
      await withKey.time(() => get(agent, `${url}/v1/lsp/languages`, key))
      await without.time(() => get(agent, `${url}/version`))
    }
  } finally {
    agent.destroy()
  }
  const figure = withKey.figure('ms')
  const { p50: free } = without
  return { auth_overhead: { ...figure, p50: figure.p50 - free, p95: figure.p95 - free, p99: figure.p99 - free } }
}

/** Events applied per second, in batches as agents send them: rows, meters, ledger and analytical store. */
export async function ledgerEvents(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const database = await openDatabaseOf(offshoot)
  try {
    const agentId = randomUUID()
    await upsertAgent(database.pool, agentId, 'http://127.0.0.1:1', '{}', false)
    const store = new PostgresEvents(database)
    const hooks = [
      { applyRecords: meterRecords },
      {
        prepareRecords: (batch: readonly AgentRecord[]) => store.prepare(batch),
        applyRecords: (client: Queryable, batch: readonly AgentRecord[]) => store.append(client, batch),
      },
    ]
    const records = history(agentId)
    await applyRecords(database.pool, hooks, [batchOf(agentId, records.slice(0, LEDGER_BATCH))])
    const startedAt = performance.now()
    for (let from = LEDGER_BATCH; from < records.length; from += LEDGER_BATCH) {
      await applyRecords(database.pool, hooks, [batchOf(agentId, records.slice(from, from + LEDGER_BATCH))])
    }
    const rate = new Samples()
    rate.add(((records.length - LEDGER_BATCH) * 1000) / (performance.now() - startedAt))
    return { ledger_events_s: rate.figure('1/s') }
  } finally {
    await database.close()
  }
}

/**
 * A thousand concurrent creates on the free plan with a limit of ten. The figure is how many succeed. The agents are
 * fakes.
 */
export async function quotaRace(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const fake = await FakeAgent.start()
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-race-'))
  const limits = { default_plan: 'free', rate_burst: 1_000_000, rate_per_second: 1_000_000 } as const
  const config = {
    ...(await configOf(offshoot)),
    agents: [{ url: fake.url, secret: fake.secret }],
    data_dir: folder,
    limits,
  }
  const control = await startControl(config, pino({ level: 'silent' }))
  const app = await createServer(control)
  try {
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const { key } = await makeWorkspace(control.database.pool)
    while (!control.fleet.agents.every(({ isReachable }) => isReachable)) await delay(10)
    const body = JSON.stringify({ template: 'base' })
    const headers = { authorization: `Bearer ${key}` }
    const statuses = await Promise.all(
      Array.from({ length: RACE }, async () => {
        const answer = await fetch(`${url}/v1/sandboxes`, { method: 'POST', headers, body })
        await answer.arrayBuffer()
        return answer.status
      }),
    )
    const passed = new Samples()
    passed.add(statuses.filter((status) => status === 201).length)
    return { quota_race: passed.figure('of 10') }
  } finally {
    app.server.closeAllConnections()
    await app.close()
    await control.stop()
    await fake.kill()
    await rm(folder, { recursive: true })
  }
}

/** A workspace on the default plan, with an API key. */
export async function makeWorkspace(pool: Pool): Promise<{ id: string; key: string }> {
  const name = `bench-${randomUUID()}`
  const { rows } = await pool.query<{ id: string }>(
    `insert into "user" (name, email, "emailVerified") values ($1, $2, true) returning id`,
    [name, `${name}@example.com`],
  )
  const [workspace] = await insertWorkspace(pool, name, name)
  const userId = rows[0]?.id
  if (workspace === undefined || userId === undefined) throw new Error('an insert gave no row')
  await insertMember(pool, workspace.id, userId, 'owner')
  const { key, prefix, hash } = mintApiKey()
  await insertApiKey(pool, prefix, hash, workspace.id, 'bench', userId, null, null)
  return { id: workspace.id, key }
}

/** Sandboxes that are created, paused, resumed, paused again and deleted, interleaved as on a busy agent. */
function history(agentId: string): AgentRecord[] {
  const types = ['sandbox.running', 'sandbox.paused', 'sandbox.resumed', 'sandbox.paused', 'sandbox.deleted'] as const
  const workspaces = Array.from({ length: 20 }, () => randomUUID())
  const sandboxes = Array.from({ length: LEDGER_SANDBOXES * 10 }, () => randomUUID())
  const startMs = Date.now() - 3_600_000
  const metadata = { template: 'base', cpu: 1, memory_mb: 512 }
  let seq = 0
  return types.flatMap((type, step) =>
    sandboxes.map((sandbox_id, index): AgentRecord => {
      seq += 1
      const ts = new Date(startMs + seq * 10).toISOString()
      const event = { ts, sandbox_id, agent_id: agentId, type, code: 'ok', message: type, metadata } as const
      return { seq, number: step + 1, workspace_id: workspaces[index % workspaces.length] ?? null, event }
    }),
  )
}

export async function configOf({ dataDir }: Offshoot): Promise<ControlConfig> {
  return controlConfig.parse(JSON.parse(await readFile(join(dataDir, 'config/control.json'), 'utf8')))
}

/** The key of a new workspace on that server. */
export async function newWorkspaceKey(offshoot: Offshoot): Promise<string> {
  const database = await openDatabaseOf(offshoot)
  try {
    return (await makeWorkspace(database.pool)).key
  } finally {
    await database.close()
  }
}

async function openDatabaseOf(offshoot: Offshoot): Promise<Database> {
  const { database } = await configOf(offshoot)
  return openDatabase(database, () => undefined)
}

function get(agent: Agent, url: string, key?: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const sent = request(url, { agent, headers, timeout: 30_000 }, (answer) => {
    answer.resume()
    answer.on('error', reject)
    answer.on('end', () => {
      if (answer.statusCode === 200) resolve()
      else reject(new Error(`${url} answered ${answer.statusCode}`))
    })
  })
  sent.on('timeout', () => sent.destroy(new Error('no answer')))
  sent.on('error', reject)
  sent.end()
  return promise
}
