/** @module-tag long */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { neon, neonConfig } from '@neondatabase/serverless'
import { ensureHostReady } from '@offshoot/up/host/debian-packages'
import { sql } from 'drizzle-orm'
import { drizzle as drizzleHttp } from 'drizzle-orm/neon-http'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { integer, pgTable, text as textColumn } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connected, type Database, options, value, createDatabase } from './setup/database.ts'
import { Offshoot } from './setup/offshoot.ts'
import { MemoryPeak } from './setup/memory-peak.ts'
import { until } from './setup/until.ts'

const run = promisify(execFile)
/**
 * MiB to copy in and out. 4 fill every buffer on the way, and take seconds of an emulated CPU. The limit of memory
 * needs more than `MAX_GROWTH_BYTES`: OFFSHOOT_COPY_MIB=1024 was tried manually.
 */
const COPY_MIB = Number(process.env['OFFSHOOT_COPY_MIB'] ?? 4)
/** Maximum growth of a service's memory, however much data passes through. */
const MAX_GROWTH_BYTES = 48 * 1024 * 1024
const COPY_MS = 60_000 + COPY_MIB * 1_000

let offshoot: Offshoot
let database: Database
let folder: string

beforeAll(async () => {
  await ensureHostReady(true, new AbortController().signal, ['postgresql-client', 'python3', 'python3-psycopg2'])
  folder = await mkdtemp(join(tmpdir(), 'offshoot-clients-'))
  offshoot = await Offshoot.start('databases-clients', { templates: ['postgres-16'] })
  database = await createDatabase(offshoot)
})
afterAll(async () => {
  await offshoot?.destroy()
  await rm(folder, { recursive: true, force: true })
})

/** As any client calls it: with the address from the API and nothing else. */
const psql = async (commands: readonly string[], url = database.connection_url) =>
  (
    await run('psql', [url, '-XAtq', '-v', 'ON_ERROR_STOP=1', ...commands.flatMap((each) => ['-c', each])])
  ).stdout.trim()

/** Connects only if an authority in the file has signed the server's certificate. */
const strict = (file: string) =>
  `${database.connection_url.replace('require', 'verify-full')}&sslrootcert=${encodeURIComponent(file)}`

const refused = (url: string) => psql(['select 1'], url).then(String, (error: { stderr: string }) => error.stderr)

describe('psql', () => {
  it('connects, and prints why it may not', async () => {
    expect(await psql(['select current_database()'])).toBe('app')
    const { connection_url: url, password, username } = database
    for (const [wrong, said] of [
      [url.replace('require', 'disable'), 'FATAL:  connection is not encrypted\nHINT:  Connect with sslmode=require.'],
      [url.replace(password, 'wrong'), `FATAL:  password authentication failed for user "${username}"`],
      [url.replace('/app?', '/other?'), 'FATAL:  database "other" does not exist'],
      [url.replace(username, `db_${'0'.repeat(32)}`), 'FATAL:  database does not exist'],
      [url.replace(username, 'postgres'), 'FATAL:  no database for user "postgres"'],
    ] as const)
      expect(await refused(wrong)).toContain(said)
  })

  it('is sure whom it speaks to, with the certificate of the authority', async () => {
    const authority = join(offshoot.dataDir, 'edge/authority.pem')
    expect(await psql(['select 1'], strict(authority))).toBe('1')
    expect(await refused(strict('/etc/ssl/certs/ca-certificates.crt'))).toContain('certificate verify failed')
  })

  it('ends a statement by ctrl-c', async () => {
    const child = spawn('psql', [database.connection_url, '-XAtqc', "select 'ctrl-c', pg_sleep(60)"])
    const said = text(child.stderr)
    await until('the statement to run', async () => {
      const running = `select count(*)::int from pg_stat_activity where query like 'select ''ctrl-c''%' and state = 'active'`
      return (await value(database.connection_url, running)) === 1
    })
    child.kill('SIGINT')
    await once(child, 'close')
    expect(await said).toContain('canceling statement due to user request')
  })

  it(
    'copies out and in what it was, and large objects, and nobody on the way holds more than a piece of it',
    async () => {
      const file = join(folder, 'rows')
      const rows = COPY_MIB * 1024
      const services = await Promise.all((['edge', 'agent'] as const).map((name) => MemoryPeak.of(offshoot, name)))
      await psql([
        'drop table if exists rows, again',
        `create table rows as select n, repeat(md5(n::text), 32) as t from generate_series(1, ${rows}) n`,
      ])
      await psql([`\\copy rows to '${file}'`])
      expect((await stat(file)).size).toBeGreaterThan(rows * 1024)
      await psql(['create table again (like rows)', `\\copy again from '${file}'`])
      const sum = 'select count(*), sum(hashtextextended(t, n)) from'
      expect(await psql([`${sum} again`])).toBe(await psql([`${sum} rows`]))
      const [, loid] =
        /(\d+)$/.exec(await psql([`\\lo_import '${file}'`, 'select max(oid) from pg_largeobject_metadata'])) ?? []
      await psql([`\\lo_export ${loid} '${file}.out'`])
      await run('cmp', [file, `${file}.out`])
      const growth = await Promise.all(
        services.map(async (peak) => ({ name: peak.name, bytes: await peak.growthBytes() })),
      )
      expect(growth.filter(({ bytes }) => bytes > MAX_GROWTH_BYTES)).toEqual([])
    },
    COPY_MS,
  )
})

/** Debian's pg_dump, of version 15 on Debian 12. Later releases have one of a matching or newer version. */
describe('pg_dump and pg_restore', () => {
  const dump = join(import.meta.dirname, 'setup/shop-of-15.dump')

  it('restore what a server of version 15 was dumped as: keys, indexes, a view, a large object', async () => {
    await psql(['drop database if exists shop with (force)', 'create database shop'])
    const url = database.connection_url.replace('/app?', '/shop?')
    await run('pg_restore', ['--exit-on-error', '--no-owner', '-d', url, dump])
    expect(
      await psql(
        [
          'select count(*), sum(total) from orders',
          'select sum(total) = (select sum(total) from orders) from spent',
          `select convert_from(lo_get(image), 'UTF8') = repeat('large ', 500) from orders where id = 7`,
          `select count(*) from pg_indexes where tablename in ('orders', 'customers')`,
          `insert into customers (name) values ('another') returning id`,
        ],
        url,
      ),
    ).toBe('400|100250.00\nt\nt\n4\n51')
    expect(
      await psql(['insert into orders values (401, 1000, 1)'], url).catch((error: Error) => error.message),
    ).toContain('violates foreign key constraint "orders_customer_fkey"')
    expect(
      await psql(['insert into orders values (401, 1, -1)'], url).catch((error: Error) => error.message),
    ).toContain('violates check constraint "orders_total_check"')
  })

  it('dump the server where they are not older than it, and say so where they are', async () => {
    const url = database.connection_url.replace('/app?', '/shop?')
    const { stdout: version } = await run('pg_dump', ['--version'])
    const major = Number(/ (\d+)\./.exec(version)?.[1])
    const file = join(folder, 'shop.dump')
    const dumped = run('pg_dump', ['-Fc', '--no-owner', '-f', file, url])
    if (major < 16) {
      await expect(dumped).rejects.toMatchObject({ stderr: expect.stringContaining('server version mismatch') })
      return
    }
    await dumped
    await psql(['drop database if exists again with (force)', 'create database again'])
    const again = database.connection_url.replace('/app?', '/again?')
    await run('pg_restore', ['--exit-on-error', '--no-owner', '-d', again, file])
    const all = ['table customers order by id', 'table orders order by id', 'table spent order by name']
    expect(await psql(all, again)).toBe(await psql(all, url))
  })
})

describe('node-postgres', () => {
  it('prepares statements, streams nothing it was not asked for, and hears of notifications', async () => {
    await connected(database.connection_url, async (client) => {
      for (const n of [1, 2, 3]) {
        const { rows } = await client.query({ name: 'double', text: 'select $1::int * 2 as n', values: [n] })
        expect(rows).toEqual([{ n: n * 2 }])
      }
      expect((await client.query('select count(*)::int as n from pg_prepared_statements')).rows).toEqual([{ n: 1 }])
      await client.query('listen news')
      const heard = new Promise((resolve) => client.once('notification', ({ payload }) => resolve(payload)))
      await value(database.connection_url, `select pg_notify('news', 'good')`)
      expect(await heard).toBe('good')
    })
  })

  it('is refused when there are too many, and the connected ones go on', async () => {
    await value(database.connection_url, `create role few login password 'few' connection limit 2; select 1`).catch(
      () => 0,
    )
    const { username, password } = database
    const url = database.connection_url.replace(`${username}:${password}`, `few.${username}:few`)
    const clients = [new pg.Client(options(url)), new pg.Client(options(url))]
    for (const client of clients) await client.connect()
    expect(await connected(url, async () => null).catch((error: pg.DatabaseError) => error.code)).toBe('53300')
    for (const client of clients) {
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      await client.end()
    }
  })
})

it('drizzle migrates, twice without harm, and asks over a connection and over HTTP', async () => {
  const notes = pgTable('notes', { id: integer().primaryKey(), body: textColumn().notNull() })
  await mkdir(join(folder, 'drizzle/meta'), { recursive: true })
  const entries = [{ idx: 0, version: '7', when: 1_700_000_000_000, tag: '0000_notes', breakpoints: true }]
  await writeFile(
    join(folder, 'drizzle/meta/_journal.json'),
    JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
  )
  const migration = `create table notes (id integer primary key, body text not null);\n--> statement-breakpoint\ncreate index on notes (body);`
  await writeFile(join(folder, 'drizzle/0000_notes.sql'), migration)
  const pool = new pg.Pool(options(database.connection_url))
  try {
    const db = drizzle({ client: pool })
    for (let round = 0; round < 2; round++) await migrate(db, { migrationsFolder: join(folder, 'drizzle') })
    await db.delete(notes)
    await db.transaction(async (tx) =>
      tx.insert(notes).values([
        { id: 1, body: 'one' },
        { id: 2, body: 'two' },
      ]),
    )
    neonConfig.fetchEndpoint = `${database.broker_url}/sql`
    const http = drizzleHttp({ client: neon(database.connection_url, { authToken: database.broker_token }) })
    expect(await http.select().from(notes).orderBy(notes.id)).toEqual([
      { id: 1, body: 'one' },
      { id: 2, body: 'two' },
    ])
    await http.batch([http.insert(notes).values({ id: 3, body: 'three' }), http.delete(notes).where(sql`id = 1`)])
    expect(await db.$count(notes)).toBe(2)
  } finally {
    await pool.end()
  }
})

const PYTHON = `
import sys, psycopg2, psycopg2.extras, io
with psycopg2.connect(sys.argv[1]) as connection, connection.cursor() as cursor:
    cursor.execute('drop table if exists p')
    cursor.execute('create table p (id int primary key, j jsonb, b bytea, t timestamptz, a int[])')
    cursor.execute('insert into p values (%s, %s, %s, %s, %s)', (1, psycopg2.extras.Json({'x': [1]}), b'\\x00\\xff', '2026-01-02T03:04:05Z', [1, None]))
    cursor.copy_expert('copy p (id) from stdin', io.StringIO('2\\n3\\n'))
    cursor.execute('select j, b, t, a from p where id = 1')
    j, b, t, a = cursor.fetchone()
    assert (j, bytes(b), t.isoformat(), a) == ({'x': [1]}, b'\\x00\\xff', '2026-01-02T03:04:05+00:00', [1, None]), (j, bytes(b), t, a)
    with connection.cursor('named') as named:
        named.execute('select id from p order by id')
        print([row[0] for row in named], connection.lobject(0, 'wb').write(b'large'))
try:
    with connection: connection.cursor().execute('insert into p (id) values (1)')
except psycopg2.errors.UniqueViolation as error: print(error.diag.constraint_name)
`

it("Python's psycopg2 writes, copies, reads by a cursor, and hears of what it may not", async () => {
  const { stdout } = await run('/usr/bin/python3', ['-c', PYTHON, database.connection_url])
  expect(stdout).toBe('[1, 2, 3] 5\np_pkey\n')
})
