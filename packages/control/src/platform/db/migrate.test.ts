import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { catalogOf } from '../../test/catalog.ts'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'
import { type Database, openDatabase } from './database.ts'
import { migrate } from './migrate.ts'
import { outliveBrokenConnections } from './outlive-broken-connections.ts'

const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`

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
      '0054-lineage',
      '0055-cordoned-hosts',
      '0065-fleet-authority',
      '0066-host-tokens',
      '0067-lost-hosts',
      '0068-host-labels',
      '0069-sandbox-moves',
      '0070-sandbox-copies',
      '0071-copy-incarnations',
      '0072-host-leases',
      '0074-own-certificate',
      '0075-stored-archives',
      '0076-recovered-databases',
      '0078-replaced-versions',
      '0080-snapshot-hosts',
      '0081-recoveries-after-leases',
      '0083-artifacts',
      '0084-templates-on-hosts',
      '0085-authority-rotation',
      '0086-due-jobs',
      '0087-recorded-segments',
    ])
  })

  it('leads to the schema in schema.sql', async () => {
    await expect(await catalogOf(pool)).toMatchFileSnapshot('schema.sql')
  })

  it('accepts a database that a later version has migrated', async () => {
    await pool.query(`insert into kysely_migration values ('9999-later', now()::text)`)
    await migrate(open())
    const { rows } = await pool.query(`select name from kysely_migration where name > '9'`)
    expect(rows).toEqual([{ name: '9999-later' }])
    await pool.query(`delete from kysely_migration where name = '9999-later'`)
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

  it('records the lineage of sandboxes that are older than the lineage', async () => {
    await pool.query('create database older')
    const { host, port, user, password } = postgres
    const database = openDatabase({ host, port, user, password, database: 'older' }, () => undefined)
    opened.push(database)
    await migrate(database, '0052-sign-in-links')
    await database.pool.query(
      `insert into organization (id, name, slug, "createdAt") values ('${id(9)}', 'w', 'w', now());
       insert into agents (id, url, info) values ('a', '', '{}');
       insert into snapshots (id, workspace_id, agent_id, sandbox_id, creator, template, cpu, memory_mb, size_bytes, origin, status)
       select n.id::uuid, '${id(9)}', 'a', n.of::uuid, 0, 'base', 1, 512, 1, n.origin, 'ready'
       from (values ('${id(3)}', '${id(1)}', 'user'), ('${id(5)}', '${id(4)}', 'fork')) as n (id, of, origin);
       insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent,
         ttl_seconds, idle_timeout_seconds, from_snapshot, parent_id, fork_tree_id, managed_by)
       select n.id::uuid, '${id(9)}', 'a', 0, 'base', 'running', 1, 512, true, 0, 0, n.snapshot, n.parent::uuid, n.tree::uuid, n.by
       from (values ('${id(2)}', '${id(3)}', null, null, null), ('${id(4)}', null, '${id(2)}', null, null),
         ('${id(6)}', '${id(5)}', null, '${id(8)}', null), ('${id(7)}', null, null, null, 'proof')) as n (id, snapshot, parent, tree, by)`,
    )
    await migrate(database)
    const { rows } = await database.pool.query('select id, link, parent_id, root_id from lineage order by id')
    expect(rows).toEqual([
      { id: id(2), link: 'from_snapshot', parent_id: id(3), root_id: id(1) },
      { id: id(3), link: 'snapshot_of', parent_id: id(1), root_id: id(1) },
      { id: id(4), link: 'fork', parent_id: id(2), root_id: id(1) },
      { id: id(6), link: 'fork', parent_id: id(4), root_id: id(1) },
    ])
  })
})
