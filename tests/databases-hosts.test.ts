/** @module-tag long */
/** A database moves to another machine with its archive, and comes back after that machine is lost. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Offshoot as Client } from '@offshoot/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connected, type Database, value } from './setup/database.ts'
import { call } from './setup/http.ts'
import { JoinedMachine } from './setup/joined-machine.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const isRoot = process.getuid?.() === 0
/** Milliseconds for a move, which reads the whole bake and the whole disk on both machines. */
const MOVE_MS = 600_000
/** Milliseconds until WAL is in the object store: a minute in the server, and the time of the host and of control. */
const ARRIVED_MS = 120_000
/** Milliseconds for all of it, on a machine that does other work, too. */
const TEST_MS = 900_000

const entries = (of: Database) =>
  value(of.connection_url, `select string_agg(n::text, ' ' order by n) from entries`) as Promise<string>
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1).join(' ')

describe.skipIf(!isRoot)('a database on one of two hosts', () => {
  let first: Offshoot
  let second: JoinedMachine
  let database: Database
  let store: string

  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), 'offshoot-objects-'))
    const settings = { objects: { folder: store } }
    first = await Offshoot.start('databases-hosts', { templates: ['postgres-16'], settings })
    second = new JoinedMachine()
    await second.join(first)
    const made = await ask('POST', '', {})
    if (made.status !== 201) throw new Error(made.text)
    database = made.body as Database
    await connected(database.connection_url, (client) => client.query('create table entries (n int primary key)'))
  })

  afterAll(async () => {
    await second?.destroy()
    await first?.destroy()
    await rm(store, { recursive: true })
  })

  const ask = (method: string, path: string, body?: unknown) =>
    first.request(method, `/v1/databases${path}`, body === undefined ? {} : { body })
  const asOperator = async (method: string, path: string) => {
    const { base_url: url, operator_key: key } = first.credentials
    return call(method, url + path, { headers: { authorization: `Bearer ${key}` } })
  }
  const hosts = async () => (await asOperator('GET', '/v1/admin/hosts')).body as { id: string; databases: number }[]

  /** Writes entries one by one, and returns the server's time after the last commit. */
  async function write(from: number, count: number): Promise<string> {
    return connected(database.connection_url, async (client) => {
      for (let n = from; n < from + count; n++) await client.query('insert into entries values ($1)', [n])
      const { rows } = await client.query<{ at: Date }>(
        `select clock_timestamp() + interval '1 ms' as at, pg_sleep(0.005)`,
      )
      return (rows[0]?.at ?? new Date(0)).toISOString()
    })
  }

  it(
    'moves with all rows and its backup when its host is drained, and is restored to a time before that',
    { timeout: TEST_MS },
    async () => {
      await write(1, 5)
      expect((await ask('POST', `/${database.id}/backups`)).status).toBe(201)
      const then = await write(6, 5)
      await write(11, 5)
      await value(database.connection_url, 'select pg_switch_wal()::text')
      const before = (await hosts()).find(({ databases }) => databases > 0)?.id
      expect((await asOperator('POST', `/v1/admin/hosts/${before}/drain`)).status).toBe(200)
      await until(
        'the end of the drain',
        async () => {
          const { drain } = (await asOperator('GET', `/v1/admin/hosts/${before}`)).body
          if (drain.ended_at === null) return false
          expect(drain).toMatchObject({ moved: 2, failed: 0, staying: 0 })
          return true
        },
        MOVE_MS,
      )
      expect((await hosts()).find(({ id }) => id !== before)?.databases).toBe(1)
      expect((await ask('GET', `/${database.id}`)).body).toMatchObject({ connection_url: database.connection_url })
      expect(await entries(database)).toBe(upTo(15))
      await write(16, 5)
      const { base_url: baseUrl, api_key: apiKey } = first.credentials
      const parent = await new Client({ baseUrl, apiKey }).databases.get(database.id)
      const { id } = await parent.restore({ time: then, label: 'restored' })
      expect(await entries((await ask('GET', `/${id}`)).body as Database)).toBe(upTo(10))
      expect(await entries(database)).toBe(upTo(20))
      expect((await ask('GET', `/${database.id}/stats`)).body).toMatchObject({ archive: { state: 'ok', gap_at: null } })
    },
  )

  it(
    'comes back on the first host with all rows that had arrived, after its own is lost',
    { timeout: TEST_MS },
    async () => {
      const before = (await hosts()).find(({ databases }) => databases > 0)?.id
      const other = (await hosts()).find(({ id }) => id !== before)?.id
      expect((await asOperator('POST', `/v1/admin/hosts/${other}/uncordon`)).status).toBe(200)
      const earlier = await write(21, 4)
      const then = await write(25, 1)
      // The server finishes a segment within a minute by itself, also soon after its start.
      const hasArrived = async () => {
        const { archive } = (await ask('GET', `/${database.id}/stats`)).body
        return archive.objects.waiting_bytes === 0 && archive.last_at > then
      }
      await until('the WAL to arrive', hasArrived, ARRIVED_MS)
      await write(26, 1)
      await second.end()
      expect((await asOperator('DELETE', `/v1/admin/hosts/${before}?reason=burnt`)).status).toBe(204)
      const found = await until(
        'the database',
        async () => {
          const { body } = await ask('GET', `/${database.id}`)
          return body.recovered_at !== null && body
        },
        MOVE_MS,
      )
      expect(found).toMatchObject({ connection_url: database.connection_url, broker_token: database.broker_token })
      expect(Date.parse(found.recovered_until)).toBeGreaterThanOrEqual(Date.parse(earlier))
      const rows = await until('a connection', () => entries(database).catch(() => null))
      expect([upTo(25), upTo(26)]).toContain(rows)
      await connected(database.connection_url, (client) => client.query('insert into entries values (100)'))
      await until('a new backup', async () => {
        const backups = (await ask('GET', `/${database.id}/backups`)).body as { created_at: string }[]
        return backups.some(({ created_at: at }) => at > found.recovered_at)
      })
    },
  )
})
