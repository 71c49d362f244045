/** @module-tag long */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connected, type Database, options, createDatabase } from './setup/database.ts'
import { Ledger } from './setup/ledger.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const ROUNDS = Number(process.env['OFFSHOOT_DATABASE_KILLS'] ?? 1)
const WRITERS = 4
const ROUND_MS = 90_000
/** The processes to kill in each round. Most rounds include QEMU. The first one is the hardest. */
const VICTIMS = [
  ['machine', 'agent', 'edge', 'control'],
  ['machine'],
  ['agent'],
  ['machine', 'agent'],
  ['edge'],
  ['machine'],
  ['control'],
] as const
const DAMAGE = `select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = relnamespace and nspname = 'public',
  lateral (select bt_index_check(c.oid, true) where relkind = 'i') checked`

let offshoot: Offshoot
let database: Database

beforeAll(async () => {
  offshoot = await Offshoot.start('databases-kills', { templates: ['postgres-16'] })
  database = await createDatabase(offshoot)
})
afterAll(async () => {
  await offshoot?.destroy()
})

async function kill(victim: 'machine' | 'agent' | 'edge' | 'control'): Promise<void> {
  if (victim !== 'machine') {
    const process_ = await offshoot.service(victim)
    if (process_ !== null) process.kill(process_.pid, 'SIGKILL')
    return
  }
  for (const { pid } of await offshoot.virtualMachines()) process.kill(pid, 'SIGKILL')
}

/** Retries until a client can connect. */
async function reached(of = database): Promise<pg.Client> {
  return until(
    'the database to be reached',
    async () => {
      const client = new pg.Client(options(of.connection_url))
      client.on('error', () => undefined)
      try {
        await client.connect()
        await client.query('select 1')
        return client
      } catch {
        await client.end().catch(() => undefined)
        return null
      }
    },
    ROUND_MS,
  )
}

/** Checks that no entry is missing, that balances match the entries, and that every page and index is intact. */
async function expectWhole(client: pg.Client): Promise<void> {
  const torn = `select b.writer from balances b left join ledger l using (writer) group by b.writer, entries
    having count(entry) <> entries or coalesce(max(entry), 0) <> entries`
  expect((await client.query(torn)).rows).toEqual([])
  expect((await client.query(DAMAGE)).rowCount).toBeGreaterThan(0)
  const heap = `select * from verify_heapam('ledger') union all select * from verify_heapam('balances')`
  expect((await client.query(heap)).rows).toEqual([])
}

it(
  `keeps what it has acknowledged through ${ROUNDS} kills, and is there again by itself`,
  { tags: 'only-once', timeout: ROUND_MS * (ROUNDS + 2) },
  async () => {
    const ledger = await Ledger.open(database.connection_url, WRITERS)
    const seconds: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const victims = VICTIMS[round % VICTIMS.length] ?? ['machine']
      const before = ledger.acknowledged
      await until('entries', () => ledger.acknowledged > before + 20, ROUND_MS)
      const killedAt = performance.now()
      await Promise.all(victims.map(kill))
      const client = await reached()
      seconds.push(`${victims.join('+')} ${((performance.now() - killedAt) / 1000).toFixed(1)}`)
      expect(await ledger.missing(client)).toEqual([])
      await client.end()
    }
    if (ROUNDS > VICTIMS.length)
      console.log(`${ledger.acknowledged} commits; seconds until reached: ${seconds.join(', ')}`)
    // Both replace the layers of the disk.
    const { status, body } = await offshoot.request('POST', `/v1/databases/${database.id}/branch`, { body: {} })
    expect(status).toBe(201)
    const branch = body as Database
    await offshoot.request('POST', `/v1/sandboxes/${database.id}/hibernate`)
    await (await reached()).end()
    await Promise.all([kill('machine'), kill('agent')])
    await (await reached()).end()
    await (await reached(branch)).end()
    await ledger.close()
    await connected(database.connection_url, async (client) => {
      expect(await ledger.missing(client)).toEqual([])
    })
    for (const { connection_url: url } of [database, branch]) await connected(url, expectWhole)
    await offshoot.healthy()
  },
)
