import type { AgentArchive } from '@offshoot/contract/agent-archive'
import type pg from 'pg'

/**
 * WAL segments of 4 MiB. With more than this number waiting, the archive counts as behind. It equals the room in the
 * VM's spool, so nothing is lost yet.
 */
const MANY_WAITING = 16

const STATS = `
  select (select sum(pg_database_size(oid)) from pg_database)::text as size_bytes,
    (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
       and application_name <> 'offshoot')::int as connections,
    current_setting('max_connections')::int as max_connections,
    (select sum(blks_hit)::float8 / nullif(sum(blks_hit) + sum(blks_read), 0) from pg_stat_database) as cache_hit_ratio,
    (select sum(xact_commit)::text from pg_stat_database) as commits,
    (select sum(deadlocks)::text from pg_stat_database) as deadlocks,
    (select count(*) from pg_ls_archive_statusdir() where name like '%.ready')::int as waiting,
    (select coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false) from pg_stat_archiver) as is_failing`

const SLOW = `
  select left(query, 1000) as query, calls::text, total_exec_time as total_ms, mean_exec_time as mean_ms, rows::text
  from pg_stat_statements order by mean_exec_time desc limit 10`

/** Size and load of a server. */
export async function readStats(client: pg.ClientBase, archive: AgentArchive): Promise<object> {
  const { rows } = await client.query<Record<string, unknown>>(STATS)
  const { size_bytes: size, commits, deadlocks, waiting, is_failing: isFailing, ...rest } = rows[0] ?? {}
  // The owner may have dropped the extension.
  const slow = await client.query<Record<string, unknown>>(SLOW).catch(() => ({ rows: [] }))
  return {
    size_bytes: Number(size),
    ...rest,
    commits: Number(commits),
    deadlocks: Number(deadlocks),
    archive: {
      state:
        isFailing === true || archive.error !== null ? 'failing' : Number(waiting) > MANY_WAITING ? 'behind' : 'ok',
      waiting_segments: Number(waiting),
      size_bytes: archive.bytes,
      last_at: archive.last_at,
      gap_at: archive.gap_at,
      objects: archive.objects,
    },
    slow_statements: slow.rows.map((each) => ({ ...each, calls: Number(each['calls']), rows: Number(each['rows']) })),
  }
}
