import { statement } from '../platform/db/statement.ts'
import type { Artifact } from './artifact.ts'
import type { StoredStream } from './stream-statements.ts'

/** A copy of an artifact in the object store. */
export interface ArtifactCopyRow {
  readonly id: string
  readonly workspace_id: string
  readonly state: 'waiting' | 'copying' | 'stored' | 'ended'
  readonly artifact_id: string
  readonly kind: Artifact['kind']
  readonly origin: string
}

/** No row: the copy or the artifact is gone. */
export const artifactCopyById = statement<ArtifactCopyRow, [id: string]>(
  'artifact-copy-by-id',
  `select c.id, c.workspace_id, c.state, c.artifact_id, o.kind, o.origin
   from artifact_copies c join artifacts o on o.id = c.artifact_id where c.id = $1`,
  { notNull: ['kind', 'origin'] },
)

/** SQL: the artifacts `o` of which there is to be a copy: not snapshots of forks, which end with the children. */
const IS_COPIED = `o.is_ready and o.origin in ('user', 'backup', 'built') and not o.is_expiring`

/**
 * Begins copies of artifacts that have none, the oldest first. One that could not be copied just now comes later.
 * @param agents the reachable agents
 */
export const beginArtifactCopies = statement<
  { id: string },
  [afterSeconds: number, retrySeconds: number, agents: readonly string[], limit: number]
>(
  'begin-artifact-copies',
  `insert into artifact_copies (artifact_id, workspace_id)
   select o.id, o.workspace_id from artifacts o
   where ${IS_COPIED} and o.created_at <= now() - make_interval(secs => $1)
     and ((o.agent_id = any($3) and not o.is_missing) or exists (select from artifact_hosts h
       where h.artifact_id = o.id and h.state = 'ready' and h.agent_id = any($3)))
     and not exists (select from artifact_copies c where c.artifact_id = o.id
       and (c.ended_at is null or c.ended_at > now() - make_interval(secs => $2)))
   order by o.created_at
   limit greatest(0, $4 - (select count(*) from artifact_copies where state in ('waiting', 'copying')))
   on conflict do nothing returning id`,
)

/** No row: the artifact was deleted meanwhile. */
export const noteArtifactCopying = statement<{ id: string }, [id: string, bake: string | null]>(
  'note-artifact-copying',
  `update artifact_copies set state = 'copying', bake = $2 where id = $1 and state = 'waiting' returning id`,
)

/**
 * Everything is in the object store. No row: the artifact was deleted meanwhile, or its bake is not there.
 * @param bakeStreamId `null`: it needs no bake
 */
export const noteArtifactStored = statement<
  { id: string },
  [id: string, streamId: string, bakeStreamId: string | null]
>(
  'note-artifact-stored',
  `with bake as (
     select id from stored_streams where id = $3 and state = 'stored' for share
   ), own as (
     update stored_streams s set state = 'stored'
     where s.id = $2 and s.state = 'storing' and ($3::uuid is null or exists (select from bake)) returning s.id
   )
   update artifact_copies c set state = 'stored', stored_at = now(), bake_stream_id = $3 from own
   where c.id = $1 and c.state = 'copying' returning c.id`,
)

/** No row: it has ended. */
export const endArtifactCopy = statement<{ id: string }, [id: string, reason: string]>(
  'end-artifact-copy',
  `update artifact_copies set state = 'ended', reason = $2, ended_at = now()
   where id = $1 and ended_at is null returning id`,
)

export const unfinishedArtifactCopies = statement<{ id: string }, [limit: number]>(
  'unfinished-artifact-copies',
  `select id from artifact_copies where state in ('waiting', 'copying') order by created_at limit $1`,
)

/** The streams of the stored copy of an artifact. */
export const streamsOfArtifact = statement<StoredStream & { readonly bake: string | null }, [artifactId: string]>(
  'streams-of-artifact',
  `select s.id, s.workspace_id, s.chunks, s.bake
   from artifact_copies c join stored_streams s on (s.copy_id = c.id and s.bake is null) or s.id = c.bake_stream_id
   where c.artifact_id = $1 and c.state = 'stored' and s.state = 'stored'`,
)

/** Days for which copies are kept that have ended. */
const KEPT_DAYS = 90

export const removeOldArtifactCopies = statement<never, []>(
  'remove-old-artifact-copies',
  `delete from artifact_copies where ended_at < now() - interval '${KEPT_DAYS} days'`,
)

/** For the gauge. `missing`: there is no copy yet. */
export const countArtifactCopies = statement<{ status: string; count: number }, [kind: Artifact['kind']]>(
  'count-artifact-copies',
  `select coalesce(c.state, 'missing') as status, count(*) as count
   from artifacts o left join artifact_copies c on c.artifact_id = o.id and c.ended_at is null
   where ${IS_COPIED} and o.kind = $1 group by 1`,
)
