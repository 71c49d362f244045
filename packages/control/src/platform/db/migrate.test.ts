import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { catalogOf } from '../../test/catalog.ts'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'
import { type Database, openDatabase } from './database.ts'
import { migrate } from './migrate.ts'
import { outliveBrokenConnections } from './outlive-broken-connections.ts'

describe('migrate', () => {
  let postgres: TestPostgres
  let pool: Pool
  const opened: Database[] = []

  function open(): Database {
    const { host, port, user, password } = postgres
    const database = openDatabase({ host, port, user, password, database: 'postgres' }, () => undefined)
    opened.push(database)
    return database
  }

  beforeAll(async () => {
    postgres = await startPostgres()
    pool = new Pool({ ...postgres, database: 'postgres' })
    outliveBrokenConnections(pool)
  })

  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()))
    await pool.end()
    await postgres.stop()
  })

  it('may be run by several processes at once, and again', async () => {
    await Promise.all([migrate(open()), migrate(open()), migrate(open())])
    await migrate(open())
    const { rows } = await pool.query('select name from kysely_migration order by name')
    expect(rows.map((row) => row.name)).toEqual([
      '0001-accounts',
      '0002-sandboxes',
      '0003-retired-agents',
      '0004-lifecycle',
      '0005-egress',
      '0006-ports',
      '0007-people',
      '0008-idempotent-requests',
      '0009-limits',
      '0010-metering',
      '0011-volumes',
      '0012-templates',
      '0013-databases',
      '0014-apps',
      '0015-git-provider',
      '0016-app-domains',
      '0017-database-backups',
      '0019-app-instances',
      '0020-database-archives',
      '0021-database-disks',
      '0023-app-trees',
      '0024-app-certificates',
      '0025-app-previews',
      '0027-leases',
      '0030-snapshot-managers',
      '0031-removed-objects',
      '0032-overage-days',
      '0034-plan-changes',
      '0035-lists',
      '0037-second-factor',
      '0038-sealing-keys',
      '0039-jobs',
      '0040-audit-targets',
      '0041-operators',
      '0042-on-timeout',
      '0043-sandbox-actors',
      '0044-names-and-times',
      '0045-workspace-events',
      '0046-ssh',
      '0047-private-previews',
      '0048-webhooks',
      '0051-used-codes',
      '0052-sign-in-links',
      '0053-changes',
    ])
  })

  it('leads to the schema in schema.sql', async () => {
    await expect(await catalogOf(pool)).toMatchFileSnapshot('schema.sql')
  })

  it('adds the jobs of rows that are older than jobs', async () => {
    await pool.query('create database old')
    const { host, port, user, password } = postgres
    const database = openDatabase({ host, port, user, password, database: 'old' }, () => undefined)
    opened.push(database)
    await migrate(database, '0038-sealing-keys')
    await database.pool.query(
      `insert into mails (sealed, due_at) select '\\x00', '2030-01-01T00:00:00Z' from generate_series(1, 2)`,
    )
    await database.pool.query(
      `insert into organization (name, slug, "createdAt", deletion_due_at)
       values ('kept', 'kept', now(), null), ('gone', 'gone', now(), '2031-01-01T00:00:00Z')`,
    )
    await migrate(database)
    const { rows } = await database.pool.query(
      `select task_identifier as task, count(*)::integer, min(run_at) as first from graphile_worker.jobs group by 1 order by 1`,
    )
    expect(rows).toEqual([
      { task: 'empty-org', count: 1, first: new Date('2031-01-01T00:00:00Z') },
      { task: 'send-mail', count: 2, first: new Date('2030-01-01T00:00:00Z') },
    ])
  })
})
