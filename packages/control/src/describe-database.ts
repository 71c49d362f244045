/**
 * `describe-database.ts CONFIG` prints one line of JSON for support: the size of each table, and the length of each queue.
 * It reads no rows of workspaces.
 */
import { readFileSync } from 'node:fs'
import { controlConfig } from '@offshoot/contract/process-config'
import { Client } from 'pg'

const QUERIES = {
  version: 'select version()',
  migrations: 'select name from kysely_migration order by name desc limit 1',
  tables: `select c.oid::regclass as name, pg_total_relation_size(c.oid)::float8 as bytes, c.reltuples::float8 as rows,
      s.n_dead_tup::float8 as dead_rows, s.last_autovacuum
    from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stat_all_tables s on s.relid = c.oid
    where c.relkind = 'r' and n.nspname in ('public', 'graphile_worker')
    order by 2 desc, 1`,
  jobs: `select task_identifier as task, count(*)::integer as count, count(locked_at)::integer as running,
      count(*) filter (where attempts > 0)::integer as tried, min(run_at) as oldest
    from graphile_worker.jobs group by 1 order by 1`,
  connections: `select state, wait_event_type, count(*)::integer as count, max(now() - state_change)::text as longest
    from pg_stat_activity where datname = current_database() group by 1, 2 order by 3 desc`,
  reconcile_waiting:
    'select action, kind, count(*)::integer as count from reconcile_waiting group by 1, 2 order by 1, 2',
}

const [configPath] = process.argv.slice(2)
if (configPath === undefined) throw new Error('usage: describe-database.ts CONFIG')
const { database } = controlConfig.parse(JSON.parse(readFileSync(configPath, 'utf8')))
const client = new Client({ ...database, connectionTimeoutMillis: 5000, query_timeout: 30_000 })
try {
  await client.connect()
  const found: Record<string, unknown> = {}
  for (const [name, query] of Object.entries(QUERIES)) found[name] = (await client.query(query)).rows
  process.stdout.write(`${JSON.stringify(found)}\n`)
  await client.end()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
}
