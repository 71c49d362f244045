import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { broker, connected, createDatabase, type Database, options, value } from '../tests/setup/database.ts'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { selfSigned } from './self-signed.ts'
import { type Figure, rounds, Samples } from './measure.ts'

type Figures = Record<string, Figure>

const run = promisify(execFile)
/** Debian's pgbench. Any version works with the server. */
const PGBENCH = process.env['PGBENCH'] ?? '/usr/lib/postgresql/15/bin/pgbench'
const CLIENTS = 4
const RATE_SECONDS = 8
const SCALE = 5
const BRANCH_MIB = Number(process.env['OFFSHOOT_BENCH_BRANCH_MIB'] ?? 1024)

export async function removeDatabase(offshoot: Offshoot, { id }: Database): Promise<void> {
  const { status, text } = await offshoot.request('DELETE', `/v1/databases/${id}`)
  if (status !== 204) throw new Error(`delete answered ${status}: ${text}`)
}

/** A new database that has answered a first query. */
export async function answeringDatabase(offshoot: Offshoot): Promise<Database> {
  const database = await createDatabase(offshoot)
  await selectOne(database)
  return database
}

async function withDatabase<T>(offshoot: Offshoot, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await createDatabase(offshoot)
  try {
    return await work(database)
  } finally {
    await removeDatabase(offshoot, database)
  }
}

export async function selectOne({ connection_url: url }: Database): Promise<void> {
  if ((await value(url, 'select 1')) !== 1) throw new Error('select 1 gave something else')
}

/** From the POST to the first row; floor: the create of a sandbox. Then {@link databaseWake}. */
export async function databaseLife(offshoot: Offshoot): Promise<Figures> {
  const [made, floor] = [new Samples(), new Samples()]
  for (const _ of rounds(10, 30_000)) {
    const database = await made.time(async () => answeringDatabase(offshoot))
    if (database) await removeDatabase(offshoot, database)
    const sandbox = await floor.time(async () => offshoot.create({ template: 'base' }))
    if (sandbox) await offshoot.delete(sandbox.id)
  }
  return { db_create: made.figure('ms', floor.p50), ...(await databaseWake(offshoot)) }
}

/** The first row of a hibernated database; floor: the wake of a VM. */
export async function databaseWake(offshoot: Offshoot): Promise<{ readonly db_wake: Figure }> {
  const [wake, machine] = [new Samples(), new Samples()]
  await withDatabase(offshoot, async (database) => {
    const act = (action: string) => offshoot.request('POST', `/v1/sandboxes/${database.id}/${action}`)
    for (const _ of rounds(10, 25_000)) {
      await act('hibernate')
      await wake.time(async () => selectOne(database))
      await act('hibernate')
      await machine.time(async () => act('wake'))
    }
  })
  return { db_wake: wake.figure('ms', machine.p50) }
}

/** How long a branch's parent was paused, from its event log. */
async function lastPauseMs(offshoot: Offshoot, id: string): Promise<number> {
  const { body } = await offshoot.request('GET', `/v1/sandboxes/${id}/events?tail=50`)
  const staged = (body as { type: string; metadata: { pause_ms: number } }[]).findLast(
    ({ type }) => type === 'fork.staged',
  )
  if (staged === undefined) throw new Error('no branch was told of')
  return staged.metadata.pause_ms
}

/**
 * A branch of a database of 1 GB: the time from the POST to its first row, and the pause of its parent. Then the same
 * with a parent that was booted.
 */
export async function databaseBranch(
  offshoot: Offshoot,
): Promise<{ readonly db_branch: Figure; readonly db_branch_parent_pause_ms: Figure }> {
  const [branch, pause] = [new Samples(), new Samples()]
  const branchOnce = async (parent: Database) => {
    const made = await branch.time(async () => {
      const { status, text, body } = await offshoot.request('POST', `/v1/databases/${parent.id}/branch`, { body: {} })
      if (status !== 201) throw new Error(`branch answered ${status}: ${text}`)
      await selectOne(body as Database)
      return body as Database
    })
    pause.add(await lastPauseMs(offshoot, parent.id))
    if (made) await removeDatabase(offshoot, made)
  }
  await withDatabase(offshoot, async (parent) => {
    await fill(parent, BRANCH_MIB)
    for (const _ of rounds(3, 15_000)) await branchOnce(parent)
    // A booted VM shares no memory pages with the template.
    for (const { pid, sandboxId } of await offshoot.virtualMachines())
      if (sandboxId === parent.id) process.kill(pid, 'SIGKILL')
    await until(
      'the parent to be booted',
      async () =>
        selectOne(parent).then(
          () => true,
          () => false,
        ),
      60_000,
    )
    for (const _ of rounds(3, 15_000)) await branchOnce(parent)
  })
  return { db_branch: branch.figure('ms'), db_branch_parent_pause_ms: pause.figure('ms') }
}

export async function fill({ connection_url: url }: Database, mebibytes: number): Promise<void> {
  await connected(url, async (client) => {
    // One row per page, uncompressed, so that the size is exact. Unlogged, because with WAL it would take 90 seconds.
    await client.query('create unlogged table filling (n int, filler text)')
    await client.query('alter table filling alter filler set storage plain')
    // A vacuum would take the guest's CPU for a minute afterwards.
    await client.query('alter table filling set (autovacuum_enabled = false)')
    const piece = 'insert into filling select n, repeat(md5(n::text), 240) from generate_series(1, $1::int) n'
    for (let done = 0; done < mebibytes; done += 64) await client.query(piece, [64 * 128])
    await client.query('checkpoint')
  })
}

/** Connect and disconnect; floor: the same to a TLS server directly in the guest. */
export async function databaseConnections(offshoot: Offshoot): Promise<Figures> {
  const [through, direct] = [new Samples(), new Samples()]
  await withDatabase(offshoot, async (database) => {
    const inner = await serveDirectly(offshoot, database)
    const once = { ...options(inner.connection_url) }
    await until(
      'the guest to take connections',
      async () =>
        open(once).then(
          () => true,
          () => false,
        ),
      30_000,
    )
    for (const _ of rounds(50, 30_000)) {
      await through.time(async () => open(options(database.connection_url)))
      await direct.time(async () => open(once))
    }
  })
  return { db_connect: through.figure('ms', direct.p50) }
}

async function open(config: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(config)
  await client.connect()
  await client.end()
}

/** Makes the server listen on the guest's own address, with a self-signed certificate. */
async function serveDirectly(offshoot: Offshoot, database: Database): Promise<Database> {
  const { stdout } = await offshoot.exec(database.id, `ip -4 -o address show scope global | awk '{ print $4 }'`)
  const host = stdout.trim().split('/')[0] ?? ''
  const { cert, key } = await selfSigned(host)
  const data = '/var/lib/postgresql/data'
  const put = (path: string, body: string) =>
    offshoot.request('PUT', `/v1/sandboxes/${database.id}/fs?path=${path}&mode=0600`, {
      body,
      headers: { 'content-type': 'application/octet-stream' },
    })
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const)
    await put(`${data}/${name}`, text)
  const script = `chown postgres:postgres ${data}/server.* && echo 'hostssl all all 0.0.0.0/0 scram-sha-256' >> ${data}/pg_hba.conf &&
    printf "listen_addresses = '*'\\nssl = on\\n" >> ${data}/postgresql.auto.conf && kill -INT $(head -1 ${data}/postmaster.pid)`
  const { exit_code: code, stderr } = await offshoot.exec(database.id, script)
  if (code !== 0) throw new Error(stderr)
  return {
    ...database,
    connection_url: database.connection_url.replace(/@[^/]*\//, `@${host}:5432/`),
  }
}

/** pgbench's standard transactions through the edge; floor: the same program in the guest. */
export async function databaseRate(offshoot: Offshoot): Promise<Figures> {
  const [through, inside] = [new Samples(), new Samples()]
  await withDatabase(offshoot, async (database) => {
    const { host, port, username, password } = database
    const env = { ...process.env, PGPASSWORD: password, PGSSLMODE: 'require' }
    const to = ['-h', host, '-p', String(port), '-U', username]
    await run(PGBENCH, [...to, '-i', '-q', '-s', String(SCALE), 'app'], { env })
    const how = ['-n', '-c', String(CLIENTS), '-j', '1', '-T', String(RATE_SECONDS)]
    await offshoot.request('PUT', `/v1/sandboxes/${database.id}/fs?path=/tmp/pgbench&mode=0755`, {
      body: await readFile(PGBENCH),
      headers: { 'content-type': 'application/octet-stream' },
    })
    const own = `PGPASSWORD=${password} LD_LIBRARY_PATH=/usr/local/pgsql/lib /tmp/pgbench ${how.join(' ')} -h 127.0.0.1 -U ${username} app`
    for (const _ of rounds(3, 60_000)) {
      through.add(rateOf((await run(PGBENCH, [...to, ...how, 'app'], { env })).stdout))
      const { stdout, stderr } = await offshoot.exec(database.id, own)
      inside.add(rateOf(stdout || stderr))
    }
  })
  return { db_tps: through.figure('1/s', inside.p50) }
}

function rateOf(report: string): number {
  const [, tps] = /^tps = ([\d.]+)/m.exec(report) ?? []
  if (tps === undefined) throw new Error(`pgbench said: ${report}`)
  return Number(tps)
}

/** `select 1` over HTTP, with pauses in between; floor: the same on an open connection. */
export async function brokerQuery(offshoot: Offshoot): Promise<Figures> {
  const [query, floor] = [new Samples(), new Samples()]
  await withDatabase(offshoot, async (database) => {
    const ask = async () => {
      const { status, text } = await broker(database, 'v1/query', { sql: 'select 1' })
      if (status !== 200) throw new Error(`the broker answered ${status}: ${text}`)
    }
    await ask()
    await connected(database.connection_url, async (client) => {
      for (const _ of rounds(200, 15_000)) {
        await query.time(ask)
        await floor.time(async () => client.query('select 1'))
      }
    })
  })
  return { broker_query: query.figure('ms', floor.p50) }
}
