import { statement } from '../platform/db/statement.ts'

/** A stream of bytes in the object store. */
export interface StoredStream {
  readonly id: string
  readonly workspace_id: string
  /** The number of objects that may exist. */
  readonly chunks: number
}

/** SQL: the copies that are being stored, of sandboxes and of artifacts. */
const COPYING = `(select id, workspace_id from sandbox_copies where state = 'copying'
   union all select id, workspace_id from artifact_copies where state = 'copying')`

/** No row: the copy was given up. @param bake its hash, if the stream is a bake; otherwise `null` */
export const insertStream = statement<{ id: string }, [copyId: string, bake: string | null]>(
  'insert-stream',
  `insert into stored_streams (workspace_id, copy_id, bake)
   select c.workspace_id, c.id, $2 from ${COPYING} c where c.id = $1 returning id`,
)

/** Before an object is stored: it may exist from now on. No row: the copy was given up. */
export const noteChunk = statement<{ id: string }, [id: string, chunks: number, bytes: number]>(
  'note-chunk',
  `update stored_streams s set chunks = $2, bytes = s.bytes + $3
   where s.id = $1 and s.state = 'storing' and s.copy_id in (select c.id from ${COPYING} c) returning s.id`,
)

/** No row: the copy was given up, or another process has stored the same bake. */
export const noteBakeStored = statement<{ id: string }, [id: string]>(
  'note-bake-stored',
  `update stored_streams s set state = 'stored' where s.id = $1 and s.state = 'storing' and s.bake is not null
     and not exists (select from stored_streams o
       where o.workspace_id = s.workspace_id and o.bake = s.bake and o.state = 'stored')
   returning s.id`,
)

export const storedBake = statement<{ id: string }, [workspaceId: string, bake: string]>(
  'stored-bake',
  `select id from stored_streams where workspace_id = $1 and bake = $2 and state = 'stored'`,
)

/** The streams of a stored copy. */
export const streamsOfCopy = statement<StoredStream & { readonly is_bake: boolean }, [copyId: string]>(
  'streams-of-copy',
  `select s.id, s.workspace_id, s.chunks, s.bake is not null as is_bake
   from sandbox_copies c join stored_streams s on (s.copy_id = c.id and s.bake is null) or s.id = c.bake_stream_id
   where c.id = $1 and s.state = 'stored'`,
)

/** Bakes that no copy needs any more. A copy that begins meanwhile does not find the bake, and is tried again. */
export const dropUnneededBakes = statement<{ id: string }, []>(
  'drop-unneeded-bakes',
  `update stored_streams s set state = 'dropped', reason = 'no copy needs it', deletion_due_at = now()
   where s.state = 'stored' and s.bake is not null and not exists (select from sandbox_copies c
     where c.workspace_id = s.workspace_id and c.bake = s.bake and c.ended_at is null)
     and not exists (select from artifact_copies c
     where c.workspace_id = s.workspace_id and c.bake = s.bake and c.ended_at is null)
   returning s.id`,
)

export const droppedStreams = statement<{ id: string }, [limit: number]>(
  'dropped-streams',
  'select id from stored_streams where deletion_due_at <= now() order by deletion_due_at limit $1',
)

/** No row: it is not due. */
export const droppedStream = statement<StoredStream, [id: string]>(
  'dropped-stream',
  'select id, workspace_id, chunks from stored_streams where id = $1 and deletion_due_at <= now()',
)

/** All its objects are deleted. */
export const removeStream = statement<never, [id: string]>(
  'remove-stream',
  `delete from stored_streams where id = $1 and state = 'dropped'`,
)
