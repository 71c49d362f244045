/** @module-tag long */
/** A database's archive, backup and disk are lost, and an object store has copies. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Offshoot as Client } from '@offshoot/sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connected, type Database, value, createDatabase } from './setup/database.ts'
import { Offshoot } from './setup/offshoot.ts'
import { S3Server } from '@offshoot/kit/test/s3-server'
import { until } from './setup/until.ts'

let s3: S3Server
let offshoot: Offshoot
let database: Database

beforeAll(async () => {
  s3 = await S3Server.start()
  s3.fault = 'error-500'
  offshoot = await Offshoot.start('databases-objects', {
    templates: ['postgres-16'],
    settings: { objects: s3.settings },
  })
  database = await createDatabase(offshoot)
})
afterAll(async () => {
  await offshoot?.destroy()
  await s3?.stop()
})

const ask = (method: string, path: string, body?: unknown) =>
  offshoot.request(method, `/v1/databases${path}`, body === undefined ? {} : { body })

interface Waiting {
  readonly waiting_bytes: number
  readonly waiting_seconds: number
  readonly error: string | null
}

async function waiting(): Promise<Waiting> {
  const { body } = await ask('GET', `/${database.id}/stats`)
  return (body as { archive: { objects: Waiting } }).archive.objects
}

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

const entries = (of: Database) =>
  value(of.connection_url, `select string_agg(n::text, ' ' order by n) from entries`) as Promise<string>
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1).join(' ')
const names = (kind: string) => [...s3.objects.keys()].filter((name) => name.startsWith(`a/b/${kind}/`))

describe('a database with an object store', () => {
  let backup: string
  let then: string

  it('works while the store is broken, and says how much waits', async () => {
    await connected(database.connection_url, (client) => client.query('create table entries (n int primary key)'))
    await write(1, 5)
    const made = await ask('POST', `/${database.id}/backups`)
    expect(made.status).toBe(201)
    backup = (made.body as { id: string }).id
    then = await write(6, 5)
    await write(11, 5)
    await value(database.connection_url, 'select pg_switch_wal()::text')
    await until('a segment that waits, with the reason', async () => {
      const { waiting_bytes: bytes, waiting_seconds: seconds, error } = await waiting()
      return bytes > 0 && seconds > 0 && error === 'InternalError (status 500)'
    })
    expect(s3.objects.size).toBe(0)
  })

  it('uploads the backlog when the store works again, also after its host was killed', async () => {
    for (const fault of ['full', 'cut', 'slow'] as const) {
      s3.fault = fault
      const before = s3.requests
      await until(`a request of a store that is ${fault}`, () => s3.requests > before)
    }
    const running = await offshoot.service('agent')
    if (running !== null) process.kill(running.pid, 'SIGKILL')
    await offshoot.healthy()
    s3.fault = 'none'
    await until('the backup to be stored', () => s3.objects.has(`a/b/backups/${backup}/manifest`))
    const stored = { waiting_bytes: 0, waiting_seconds: 0, error: null }
    await until('all segments to be stored', async () => isDeepStrictEqual(await waiting(), stored))
    expect(names(`archives/${database.id}`)).not.toEqual([])
  })

  it('is restored from the objects after its archive, its backup and its disk are lost', async () => {
    for (const { pid } of await offshoot.virtualMachines()) process.kill(pid, 'SIGKILL')
    await offshoot.down()
    const agent = join(offshoot.dataDir, 'agent')
    const sandbox = join(agent, 'sandboxes', database.id)
    for (const part of ['archive', 'vm', 'hibernation']) await rm(join(sandbox, part), { recursive: true, force: true })
    for (const layer of await readdir(join(agent, 'layers'))) await rm(join(agent, 'layers', layer))
    for (const file of await readdir(join(agent, 'snapshots', backup)))
      if (file !== 'snapshot.json') await rm(join(agent, 'snapshots', backup, file))
    await offshoot.up()
    const { base_url: baseUrl, api_key: apiKey } = offshoot.credentials
    const parent = await new Client({ baseUrl, apiKey }).databases.get(database.id)

    s3.fault = 'damaged'
    expect(await ask('POST', `/${database.id}/restore`, { time: then })).toMatchObject({ status: 409 })
    s3.fault = 'none'
    const { id } = await parent.restore({ time: then, label: 'restored' })
    const restored = (await ask('GET', `/${id}`)).body as Database
    expect(await entries(restored)).toBe(upTo(10))
  })

  it('takes its objects with it when it is deleted', async () => {
    expect(await ask('DELETE', `/${database.id}`)).toMatchObject({ status: 204 })
    await until(
      'its objects to be deleted',
      () => names(`archives/${database.id}`).length + names(`backups/${backup}`).length === 0,
    )
  })
})
