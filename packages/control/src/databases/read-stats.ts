import type pg from 'pg'

const STATS = `
  select (select sum(pg_database_size(oid)) from pg_database)::text as size_bytes,
    (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
       and application_name <> 'offshoot')::int as connections,
    current_setting('max_connections')::int as max_connections,
    (select sum(blks_hit)::float8 / nullif(sum(blks_hit) + sum(blks_read), 0) from pg_stat_database) as cache_hit_ratio,
    (select sum(xact_commit)::text from pg_stat_database) as commits,
    (select sum(deadlocks)::text from pg_stat_database) as deadlocks`

const SLOW = `
  select left(query, 1000) as query, calls::text, total_exec_time as total_ms, mean_exec_time as mean_ms, rows::text
  from pg_stat_statements order by mean_exec_time desc limit 10`

/** How large and how busy a server is. */
export async function readStats(client: pg.ClientBase): Promise<object> {
  const { rows } = await client.query<Record<string, unknown>>(STATS)
  const { size_bytes: size, commits, deadlocks, ...rest } = rows[0] ?? {}
  // Its owner may have dropped the extension.
  const slow = await client.query<Record<string, unknown>>(SLOW).catch(() => ({ rows: [] }))
  return {
    size_bytes: Number(size),
    ...rest,
    commits: Number(commits),
    deadlocks: Number(deadlocks),
    slow_statements: slow.rows.map((each) => ({ ...each, calls: Number(each['calls']), rows: Number(each['rows']) })),
  }
}
