/** What a host takes with it when its machine is lost for good, and what is promised to survive. */
import type { Fleet } from './fleet.ts'

/** SQL: the object store has the snapshot or template `id`, or a host other than `host`. */
const isElsewhere = (id: string, host: string) =>
  `(exists (select from artifact_copies c where c.artifact_id = ${id} and c.state = 'stored')
    or exists (select from artifact_hosts h where h.artifact_id = ${id} and h.state = 'ready' and h.agent_id <> ${host}))`

/** SQL: the database `d` on the host `s.agent_id` has a backup elsewhere, and a stored archive. */
const COMES_BACK = `exists (select from stored_segments g where g.archive_id = d.id and g.state = 'stored')
  and exists (select from database_backups b join snapshots n on n.id = b.id
    where b.database_id = d.id and b.verified <> 'failed' and n.status = 'ready'
      and (n.agent_id <> s.agent_id or ${isElsewhere('b.id', 's.agent_id')}))`

/**
 * Ids of the sandboxes, snapshots and databases, and names of the volumes, that end with the host. Everything else of it has
 * to come back: a sandbox that sleeps and a snapshot by a stored copy, a database by a backup and its stored archive.
 */
export async function endsWith(fleet: Fleet, hostId: string): Promise<string[]> {
  const rows = await fleet.rows.read<{ id: string }>(
    `select id::text from sandboxes s where agent_id = $1 and managed_by is distinct from 'database'
       and not exists (select from sandbox_copies c where c.sandbox_id = s.id and c.state = 'stored')
     union all
     select id::text from snapshots s where agent_id = $1 and not ${isElsewhere('s.id', '$1')}
     union all
     select name from volumes where agent_id = $1 and kind = 'volume'
     union all
     select d.id::text from databases d join sandboxes s on s.id = d.id where s.agent_id = $1 and not (${COMES_BACK})`,
    hostId,
  )
  return rows.map(({ id }) => id)
}

/** The host of a database that would come back. */
export async function hostOfDatabase(fleet: Fleet): Promise<string | undefined> {
  return (await returning(fleet))[0]?.agent_id
}

/** Ids of the databases of a host that would come back on another one. */
export async function returningDatabases(fleet: Fleet, hostId: string): Promise<string[]> {
  return (await returning(fleet)).filter(({ agent_id: host }) => host === hostId).map(({ id }) => id)
}

function returning(fleet: Fleet): Promise<{ id: string; agent_id: string }[]> {
  return fleet.rows.read(
    `select d.id::text, s.agent_id from databases d join sandboxes s on s.id = d.id
     where d.status = 'ready' and ${COMES_BACK}`,
  )
}
