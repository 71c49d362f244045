import { statement } from '../platform/db/statement.ts'
import type { Artifact } from './artifact.ts'
import { isRecentlyRemoved } from './removable.ts'

/** Hosts that one artifact is offered to in one drain. */
const MAX_ATTEMPTS = 3

/** SQL: the artifacts `o` that a drain moves. */
export const MOVABLE_ARTIFACT = `o.is_ready and not o.is_expiring`
/** SQL: the attempts of this drain to move the artifact `o` from the host `a` that have failed. */
export const FAILED_ARTIFACT = `from artifact_moves m where m.artifact_id = o.id and m.from_agent = a.id
  and m.state = 'failed' and m.created_at >= a.drain_begun_at`
export const IS_ARTIFACT_MOVING =
  'exists (select from artifact_moves m where m.artifact_id = o.id and m.finished_at is null)'
/** SQL: another attempt makes no sense in this drain. */
export const IS_ARTIFACT_TRIED = `(select count(*) >= ${MAX_ATTEMPTS} or bool_or(m.is_final or m.to_agent is null)
  ${FAILED_ARTIFACT}) is true`

export interface DrainableArtifact {
  readonly id: string
  readonly workspace_id: string
  /** Other hosts that have it already. */
  readonly hosts: string[]
  /** Hosts that could not take it, or were told to remove it just now. */
  readonly tried: string[]
  /** It has memory, which only hosts with the accelerator of its home can restore. */
  readonly is_bound: boolean
}

/** The next artifacts to move from a host, the smallest first. */
export const drainableArtifacts = statement<DrainableArtifact, [agentId: string, limit: number]>(
  'drainable-artifacts',
  `select o.id, o.workspace_id, o.is_bound,
     array(select h.agent_id from artifact_hosts h where h.artifact_id = o.id and h.state = 'ready') as hosts,
     array(select m.to_agent ${FAILED_ARTIFACT} and m.to_agent is not null
       union select b.id from agents b where ${isRecentlyRemoved('o.id', 'b.id')}) as tried
   from artifacts o join agents a on a.id = o.agent_id
   where a.id = $1 and ${MOVABLE_ARTIFACT} and not ${IS_ARTIFACT_MOVING} and not ${IS_ARTIFACT_TRIED}
   order by o.size_bytes, o.id limit $2`,
  { notNull: ['id', 'workspace_id', 'is_bound'] },
)

/**
 * Waits for whoever cancels the drain. No row: the host is not drained any more, another move is under way, or the artifact
 * is gone.
 */
export const beginArtifactMove = statement<{ id: string }, [artifactId: string, fromAgent: string, toAgent: string]>(
  'begin-artifact-move',
  `insert into artifact_moves (artifact_id, workspace_id, from_agent, to_agent, state)
   select o.id, o.workspace_id, o.agent_id, $3, 'copying' from artifacts o join agents a on a.id = o.agent_id
   where o.id = $1 and o.agent_id = $2 and ${MOVABLE_ARTIFACT}
     and a.drain_begun_at is not null and a.drain_ended_at is null
   for share of a
   on conflict do nothing returning id`,
)

/** No host fits the artifact. */
export const recordUnplacedArtifact = statement<never, [artifactId: string, fromAgent: string, reason: string]>(
  'record-unplaced-artifact',
  `insert into artifact_moves (artifact_id, workspace_id, from_agent, state, reason, finished_at)
   select id, workspace_id, agent_id, 'failed', $3, now() from artifacts where id = $1 and agent_id = $2`,
)

export interface ArtifactMoveRow {
  readonly id: string
  readonly artifact_id: string
  readonly workspace_id: string
  readonly from_agent: string
  readonly to_agent: string
  /** The home of the artifact now, its kind, its origin, and how people call it; `null`: it is gone. */
  readonly home: string | null
  readonly kind: Artifact['kind'] | null
  readonly origin: string | null
  readonly name: string | null
}

/** No row: the move has ended. */
export const openArtifactMove = statement<ArtifactMoveRow, [id: string]>(
  'open-artifact-move',
  `select m.id, m.artifact_id, m.workspace_id, m.from_agent, m.to_agent, o.agent_id as home, o.kind, o.origin, o.name
   from artifact_moves m left join artifacts o on o.id = m.artifact_id where m.id = $1 and m.finished_at is null`,
  { notNull: ['to_agent'] },
)

/** No row: it has ended. */
export const finishArtifactMove = statement<{ id: string }, [id: string]>(
  'finish-artifact-move',
  `update artifact_moves set state = 'done', finished_at = now() where id = $1 and finished_at is null returning id`,
)

/** @param isFinal whether this drain tries no other host */
export const failArtifactMove = statement<{ id: string }, [id: string, reason: string, isFinal: boolean]>(
  'fail-artifact-move',
  `update artifact_moves set state = 'failed', reason = $2, is_final = $3, finished_at = now()
   where id = $1 and finished_at is null returning id`,
)

export const unfinishedArtifactMoves = statement<{ id: string }, [limit: number]>(
  'unfinished-artifact-moves',
  'select id from artifact_moves where finished_at is null order by created_at limit $1',
)

/** Days for which moves are kept. */
const KEPT_DAYS = 90

export const removeOldArtifactMoves = statement<never, []>(
  'remove-old-artifact-moves',
  `delete from artifact_moves where finished_at < now() - interval '${KEPT_DAYS} days'`,
)
