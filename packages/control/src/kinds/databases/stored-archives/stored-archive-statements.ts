import { statement } from '../../../platform/db/statement.ts'

/** Seconds between two looks at the archive of a database that runs, and after a failure. */
const LOOK_SECONDS = 15
const RETRY_SECONDS = 30

/** An archive whose new files control stores now. */
export interface DueArchive {
  readonly id: string
  readonly workspace_id: string
  /** The agent whose list control has read up to `cursor`. */
  readonly listed_agent: string | null
  readonly cursor: string
  readonly agent_id: string
  readonly is_running: boolean
}

const DUE = `stored_archives a join sandboxes s on s.id = a.id where a.due_at <= now()`

/** @param agents the reachable agents */
export const dueArchives = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'due-archives',
  `select a.id from ${DUE} and s.agent_id = any($2) order by a.due_at limit $1`,
)

export const dueArchive = statement<DueArchive, [id: string]>(
  'due-archive',
  `select a.id, a.workspace_id, a.listed_agent, a.cursor, s.agent_id, s.status = 'running' as is_running
   from ${DUE} and a.id = $1`,
)

/** Those of the files that are in the object store. */
export const storedAmong = statement<{ name: string }, [id: string, names: readonly string[]]>(
  'stored-segments-among',
  `select name from stored_segments where archive_id = $1 and name = any($2) and state = 'stored'`,
)

/** Before an object is stored: it may exist from now on. No row: the database was deleted, or no backup needs the file. */
export const noteStoring = statement<{ name: string }, [id: string, name: string, bytes: number, takenAt: string]>(
  'note-storing-segment',
  `insert into stored_segments (archive_id, name, bytes, taken_at)
   select d.id, $2, $3, $4 from databases d where d.id = $1 for share
   on conflict (archive_id, name) do update set bytes = excluded.bytes where stored_segments.state = 'storing'
   returning name`,
)

export const noteStored = statement<never, [id: string, name: string]>(
  'note-stored-segment',
  `update stored_segments set state = 'stored' where archive_id = $1 and name = $2 and state = 'storing'`,
)

/** All files up to the cursor are stored. */
export const noteCursor = statement<never, [id: string, agentId: string, cursor: string]>(
  'note-archive-cursor',
  `update stored_archives set listed_agent = $2, cursor = $3, error = null where id = $1`,
)

/** @param wasRunning when control began to look: what was archived since then is not stored yet */
export const noteLooked = statement<never, [id: string, wasRunning: boolean]>(
  'note-archive-looked-at',
  `update stored_archives set error = null, due_at = case when $2::boolean or exists (select from sandboxes s
     where s.id = $1 and s.status = 'running') then now() + interval '${LOOK_SECONDS} seconds' end
   where id = $1 and due_at is not null`,
)

export const noteFailure = statement<never, [id: string, error: string]>(
  'note-archive-failure',
  `update stored_archives set error = $2, due_at = now() + interval '${RETRY_SECONDS} seconds'
   where id = $1 and due_at is not null`,
)

/** For the figures of a database. */
export const storedArchive = statement<
  { readonly listed_agent: string | null; readonly cursor: string; readonly error: string | null },
  [id: string]
>('stored-archive', 'select listed_agent, cursor, error from stored_archives where id = $1')

/** Files that no backup needs any more. */
export const dropSegments = statement<never, [id: string, before: Date]>(
  'drop-stored-segments',
  `with dropped as (
     update stored_segments set state = 'dropped', reason = 'no backup needs it'
     where archive_id = $1 and state = 'stored' and taken_at < $2 and name not like '%.history' returning archive_id
   )
   update stored_archives set deletion_due_at = coalesce(deletion_due_at, now())
   where id in (select archive_id from dropped)`,
)

export const archivesToDelete = statement<{ id: string }, [limit: number]>(
  'archives-to-delete',
  'select id from stored_archives where deletion_due_at <= now() order by deletion_due_at limit $1',
)

export const droppedSegments = statement<{ name: string; workspace_id: string }, [id: string, limit: number]>(
  'dropped-segments',
  `select g.name, a.workspace_id from stored_segments g join stored_archives a on a.id = g.archive_id
   where a.id = $1 and a.deletion_due_at <= now() and g.state = 'dropped' order by g.name limit $2`,
)

/** Its object is deleted. */
export const removeSegment = statement<never, [id: string, name: string]>(
  'remove-stored-segment',
  `delete from stored_segments where archive_id = $1 and name = $2 and state = 'dropped'`,
)

/** Nothing of it is left to delete. */
export const endDeletion = statement<never, [id: string]>(
  'end-archive-deletion',
  `update stored_archives set deletion_due_at = null where id = $1 and not exists (select from stored_segments
     where archive_id = $1 and state = 'dropped')`,
)

/** An archive without a database and without files. */
export const removeArchive = statement<never, [id: string]>(
  'remove-stored-archive',
  `delete from stored_archives where id = $1 and not exists (select from databases where id = $1)
     and not exists (select from stored_segments where archive_id = $1)`,
)
