import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connected, createDatabase, type Database, value } from '../tests/setup/database.ts'
import { until } from '../tests/setup/until.ts'
import { type Figure, Samples } from './measure.ts'
import { FAILOVERS, LOOK_MS, LOST_AFTER_SECONDS, TwoHosts } from './two-hosts.ts'

const ENTRIES = 10_000
const STORED_MS = 180_000
const RESTORED_MS = 180_000
/** Milliseconds of one look: nobody refuses a connection to a host that is cut off. */
const ANSWER_MS = 1_000

/**
 * `database_failover_to_serving_s`: from the moment at which the host of a database is cut off until a client has an
 * answer from another host. The lease of the host ends meanwhile. Floor: a restore of the same database on the other
 * host, from the request to the first answer.
 */
export async function databaseFailover(): Promise<Record<string, Figure>> {
  const store = await mkdtemp(join(tmpdir(), 'offshoot-objects-'))
  const settings = { lost_after_seconds: LOST_AFTER_SECONDS, database_leases: true, objects: { folder: store } }
  try {
    return await TwoHosts.use('database-failover', measure, { templates: ['minimal', 'postgres-16'], settings })
  } finally {
    await rm(store, { recursive: true })
  }
}

async function measure(hosts: TwoHosts): Promise<Record<string, Figure>> {
  const [lost, restored] = [new Samples(), new Samples()]
  for (let round = 0; round < FAILOVERS; round++) {
    const database = await hosts.onlyOn(hosts.second, async () => create(hosts))
    await backUp(hosts, database)
    restored.add(await hosts.onlyOn(hosts.first, async () => restore(hosts, database)))
    lost.add(await hosts.cutOffUntil('the database on the other host', () => answers(database)))
    await ask(hosts, 'DELETE', `/${database.id}`)
  }
  return { database_failover_to_serving_s: lost.figure('s', restored.p50) }
}

/** Waits until the host has a lease. */
async function create(hosts: TwoHosts): Promise<Database> {
  const database = await until('a database', () => createDatabase(hosts.offshoot).catch(() => null))
  const sql = `create table entries as select n, repeat('x', 100) as text from generate_series(1, ${ENTRIES}) n`
  await connected(database.connection_url, (client) => client.query(sql))
  return database
}

/** Until the object store has the backup, and all WAL. */
async function backUp(hosts: TwoHosts, { id, connection_url: url }: Database): Promise<void> {
  await ask(hosts, 'POST', `/${id}/backups`)
  await value(url, 'select pg_switch_wal()::text')
  const isStored = async () => {
    const { archive } = await ask(hosts, 'GET', `/${id}/stats`)
    const { text } = await hosts.offshoot.request('GET', '/metrics')
    return archive.objects.waiting_bytes === 0 && /^offshoot_snapshot_copies\{status="stored"\} [1-9]/m.test(text)
  }
  await until('the backup in the object store', isStored, STORED_MS, LOOK_MS)
}

/** @returns seconds until the restored database answers */
async function restore(hosts: TwoHosts, { id }: Database): Promise<number> {
  const time = new Date().toISOString()
  const beganAt = performance.now()
  const made = (await ask(hosts, 'POST', `/${id}/restore`, { time })) as Database
  await until('the restored database', () => answers(made), RESTORED_MS, LOOK_MS)
  const seconds = (performance.now() - beganAt) / 1000
  await ask(hosts, 'DELETE', `/${made.id}`)
  return seconds
}

async function answers({ connection_url: url }: Database): Promise<boolean> {
  const patience = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS }
  const counted = connected(url, (client) => client.query('select count(*)::int as count from entries'), patience)
  const { rows } = await counted.catch(() => ({ rows: [] }))
  return rows[0]?.count === ENTRIES
}

/** @throws Error if the answer is no success */
async function ask({ offshoot }: TwoHosts, method: string, path: string, body?: object) {
  const answer = await offshoot.request(method, `/v1/databases${path}`, body === undefined ? {} : { body })
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return answer.body
}
