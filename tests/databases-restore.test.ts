/** @module-tag long */
import { Offshoot as Client } from '@offshoot/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connected, type Database, refusal, value, createDatabase } from './setup/database.ts'
import { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

const MINUTE_MS = 60_000
/** Number of chained restores; each restores the database that the one before made. */
const GENERATIONS = Number(process.env['OFFSHOOT_DATABASE_RESTORES'] ?? 1)

let offshoot: Offshoot
let database: Database

beforeAll(async () => {
  offshoot = await Offshoot.start('databases-restore', { templates: ['postgres-16'] })
  database = await createDatabase(offshoot)
})
afterAll(async () => {
  await offshoot?.destroy()
})

const ask = (method: string, path: string, body?: unknown) =>
  offshoot.request(method, `/v1/databases${path}`, body === undefined ? {} : { body })

interface Backup {
  readonly id: string
  readonly created_at: string
  readonly verified: string
  readonly verify_error: string | null
}

async function backUp(of: Database): Promise<Backup> {
  const { status, text, body } = await ask('POST', `/${of.id}/backups`)
  if (status !== 201) throw new Error(text)
  return body as Backup
}

/** Writes entries one by one, and returns the server's time after the last commit. */
async function write(to: Database, from: number, count: number): Promise<string> {
  return connected(to.connection_url, async (client) => {
    for (let n = from; n < from + count; n++) await client.query('insert into entries values ($1)', [n])
    const { rows } = await client.query<{ at: Date }>(
      `select clock_timestamp() + interval '1 ms' as at, pg_sleep(0.005)`,
    )
    return (rows[0]?.at ?? new Date(0)).toISOString()
  })
}

async function restored(from: Database, time: string): Promise<Database> {
  const { base_url: baseUrl, api_key: apiKey } = offshoot.credentials
  const parent = await new Client({ baseUrl, apiKey }).databases.get(from.id)
  const { id, info } = await parent.restore({ time, label: 'restored' })
  expect(info).toMatchObject({ label: 'restored', parentId: from.id, status: 'running' })
  return (await ask('GET', `/${id}`)).body as Database
}

const entries = (of: Database) =>
  value(of.connection_url, `select string_agg(n::text, ' ' order by n) from entries`) as Promise<string>
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1).join(' ')

describe('a database', () => {
  let then: string
  let again: Database

  it(
    'is restored as it was at a time, through kills of everything, with credentials of its own',
    { tags: 'only-once' },
    async () => {
      await connected(database.connection_url, (client) => client.query('create table entries (n int primary key)'))
      await write(database, 1, 5)
      const { created_at: since } = await backUp(database)
      await write(database, 6, 5)
      // A finished WAL segment must be archived exactly once, by the restarted processes.
      await value(database.connection_url, 'select pg_switch_wal()::text')
      for (const service of ['agent', 'control'] as const) {
        const running = await offshoot.service(service)
        if (running !== null) process.kill(running.pid, 'SIGKILL')
      }
      for (const { pid } of await offshoot.virtualMachines()) process.kill(pid, 'SIGKILL')
      await offshoot.healthy()
      await until('the database to be reached', () => entries(database).catch(() => null), MINUTE_MS)
      then = await write(database, 11, 5)
      await write(database, 16, 5)
      again = await restored(database, then)
      expect(await entries(again)).toBe(upTo(15))
      expect(await entries(database)).toBe(upTo(20))
      expect(again.password).not.toBe(database.password)
      expect(await refusal(again.connection_url.replace(again.password, database.password))).toMatchObject({
        code: '28P01',
      })
      expect(await value(again.connection_url, 'select pg_is_in_recovery()')).toBe(false)
      expect((await ask('GET', `/${database.id}/stats`)).body).toMatchObject({
        archive: { state: 'ok', waiting_segments: 0, last_at: expect.any(String), gap_at: null },
      })
      for (const [time, error] of [
        [undefined, 'time required'],
        [1_700_000_000, 'time must be an RFC 3339 time with a time zone'],
        ['yesterday', 'time must be an RFC 3339 time with a time zone'],
        [then.replace('Z', ''), 'time must be an RFC 3339 time with a time zone'],
        [new Date(Date.now() + MINUTE_MS).toISOString(), 'time must not be in the future'],
        [new Date(Date.parse(since) - MINUTE_MS).toISOString(), expect.stringMatching(/^time must not be before 20/)],
      ]) {
        expect(await ask('POST', `/${database.id}/restore`, { time })).toMatchObject({ status: 400, body: { error } })
      }
      expect(await ask('POST', `/${again.id}/restore`, { time: then })).toMatchObject({
        status: 400,
        body: { error: 'time must not be before the first backup, and there is none yet' },
      })
    },
  )

  it.skipIf(GENERATIONS < 2)('that was restored is backed up and restored in its turn', async () => {
    await backUp(again)
    const last = await write(again, 16, 2)
    await write(again, 18, 2)
    const third = await restored(again, last)
    expect(await entries(third)).toBe(upTo(17))
    expect(await ask('DELETE', `/${third.id}`)).toMatchObject({ status: 204 })
  })

  it(
    'verifies its backups in sandboxes that no list shows',
    { timeout: 8 * MINUTE_MS, tags: 'only-once' },
    async () => {
      // The index is intact, but does not match its table.
      await connected(database.connection_url, async (client) => {
        await client.query(`create function twisted(int) returns int immutable language sql as 'select $1'`)
        await client.query('create index twisted_idx on entries (twisted(n))')
        await client.query(`create or replace function twisted(int) returns int immutable language sql as 'select -$1'`)
      })
      const damaged = await backUp(database)
      expect(await ask('DELETE', `/${again.id}`)).toMatchObject({ status: 204 })
      const backups = async () => (await ask('GET', `/${database.id}/backups`)).body as Backup[]
      await until(
        'verdicts',
        async () => (await backups()).every(({ verified }) => verified !== 'pending'),
        7 * MINUTE_MS,
      )
      expect(await backups()).toEqual([
        {
          ...damaged,
          verified: 'failed',
          verified_at: expect.any(String),
          verify_error: expect.stringContaining('twisted_idx'),
        },
        expect.objectContaining({ verified: 'ok', verified_at: expect.any(String), verify_error: null }),
      ])
      const seen = new Set([database.id, ...((await ask('GET', '')).body as Database[]).map(({ id }) => id)])
      const sandboxes = (await offshoot.request('GET', '/v1/sandboxes')).body as { id: string }[]
      expect(sandboxes.filter(({ id }) => !seen.has(id))).toEqual([])
      expect((await offshoot.request('GET', '/v1/snapshots')).body).toEqual([])
      for (const [method, path, body] of [
        ['GET', `/v1/snapshots/${damaged.id}`, undefined],
        ['DELETE', `/v1/snapshots/${damaged.id}`, undefined],
        ['POST', '/v1/sandboxes', { template: 'postgres-16', from_snapshot: damaged.id }],
      ] as const)
        expect(await offshoot.request(method, path, body === undefined ? {} : { body })).toMatchObject({ status: 404 })
      const events = (await offshoot.request('GET', '/v1/events?limit=500')).body as { sandbox_id: string | null }[]
      // Events of the sandboxes of this database and of the restored ones. Those of databases and backups name none.
      expect(new Set(events.flatMap(({ sandbox_id: id }) => id ?? [])).size).toBe(1 + GENERATIONS)
    },
  )

  it('with a full disk refuses writes, and takes them again when its disk has grown', async () => {
    const fill = `fallocate -l $(($(df --output=avail -B1 / | tail -1) - 4194304)) $(mktemp /fill.XXXXXX)`
    const large = `drop table if exists large; create table large as select repeat(n::text, 1000) from generate_series(1, 20000) n`
    const codeOf = (sql: string) =>
      connected(database.connection_url, (client) => client.query(sql)).then(
        () => null,
        (error: { code?: string }) => error.code ?? '',
      )
    // 53100: disk full. If PostgreSQL cannot even write WAL, it crashes and restarts as read-only (25006).
    const isRefused = async () => {
      const code = await codeOf(large)
      // Archiving frees disk space, so fill it again.
      if (code === null) await offshoot.exec(database.id, fill)
      return code === '53100' || code === '25006'
    }
    await offshoot.exec(database.id, fill)
    await until('the refusal', isRefused, MINUTE_MS)
    expect(await until('readers', () => entries(database).catch(() => null), MINUTE_MS)).toBe(upTo(20))
    for (const disk of [8191, 65_537, '9216', 9216.5])
      expect(await ask('PATCH', `/${database.id}`, { disk_mb: disk })).toMatchObject({ status: 400 })
    for (const disk of [9216, 9216])
      expect(await ask('PATCH', `/${database.id}`, { disk_mb: disk })).toMatchObject({
        status: 200,
        body: { disk_mb: 9216 },
      })
    expect(await ask('PATCH', `/${database.id}`, { disk_mb: 8192 })).toMatchObject({
      status: 400,
      body: { error: 'disk_mb must be >= 9216: a disk only grows' },
    })
    await until('writes', async () => (await codeOf(large)) === null, MINUTE_MS)
    await write(database, 21, 1)
  })
})
