import { AgentRefused, AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { artifactContent, exportArtifact } from '../../../fleet/artifact-calls.ts'
import { hostsOfArtifact } from '../../../fleet/artifact-host-statements.ts'
import { comesWithoutMemory } from '../../../fleet/artifact.ts'
import {
  artifactCopyById,
  type ArtifactCopyRow,
  beginArtifactCopies,
  endArtifactCopy,
  noteArtifactCopying,
  noteArtifactStored,
  unfinishedArtifactCopies,
} from '../../../fleet/artifact-copy-statements.ts'
import { reasonOf, SourceFailed } from '../../../fleet/stream-calls.ts'
import { whileHeard } from '../../../fleet/while-heard.ts'
import type { RecurringTask, RowTask } from '../../../platform/jobs/task.ts'
import { CopyEnded, storeBake, type Storing, storeOwn } from '../copies/store-copy.ts'
import { StoreFailed } from '../model/stored-streams.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'

/** Seconds between two runs of the job of a copy that does not get on. */
const RETRY_SECONDS = 10
/** Milliseconds between two rounds, and while there are more artifacts to copy. */
const EVERY_MS = 10_000
const NEXT_MS = 500
/** Seconds after which an artifact is copied: many are deleted within a minute. */
const MAX_AFTER_SECONDS = 60
/** Seconds after which an artifact is copied again that could not be copied. */
const MAX_AGAIN_SECONDS = 600
/** Copies that are stored at the same time. */
const MAX_AT_ONCE = 2

/** Begins the copies of artifacts that have none. */
export function planArtifactCopies({ database, fleet, config }: SandboxesContext): RecurringTask {
  const [after, again] = [MAX_AFTER_SECONDS, MAX_AGAIN_SECONDS].map((most) => Math.min(most, config.copy_after_seconds))
  return {
    name: 'plan-artifact-copies',
    async recur() {
      const begun = await beginArtifactCopies(database.pool, after ?? 0, again ?? 0, fleet.reachable, MAX_AT_ONCE)
      return begun.length > 0 ? NEXT_MS : Math.min(EVERY_MS, config.copy_after_seconds * 1000)
    },
  }
}

/**
 * Stores copies of artifacts in the object store (docs/internal-api.md, "Copy of an artifact"). A copy that fails ends, and
 * another one begins later. One that is stored stays until its artifact is deleted, because an artifact never changes.
 */
export function copyArtifacts(control: SandboxesContext): RowTask {
  const { pool } = control.database
  return {
    name: 'copy-artifact',
    retrySeconds: RETRY_SECONDS,
    due: async (limit) => (control.storedStreams === null ? [] : unfinishedArtifactCopies(pool, limit)),
    async work({ id, requestId, signal }) {
      const [copy] = await artifactCopyById(pool, id)
      // What another run has sent of the stream is not known.
      if (copy?.state === 'copying') await endArtifactCopy(pool, id, 'the copy was interrupted')
      if (copy?.state !== 'waiting') return
      try {
        await store(control, copy, requestId, signal)
      } catch (error) {
        signal.throwIfAborted()
        const reason = failureOf(error)
        if (reason === null) throw error
        if (!(error instanceof CopyEnded)) {
          const { kind, artifact_id: artifactId } = copy
          control.log.warn({ err: error, [kind]: artifactId }, `${kind} not copied: trying again later`)
        }
        await endArtifactCopy(pool, id, reason)
      }
    },
  }
}

async function store(
  control: SandboxesContext,
  copy: ArtifactCopyRow,
  requestId: string,
  signal: AbortSignal,
): Promise<void> {
  const { database, fleet, storedStreams: streams } = control
  const { pool } = database
  if (streams === null) throw new CopyEnded('there is no object store')
  const hosts = await hostsOfArtifact(pool, copy.artifact_id)
  const ready = hosts.flatMap(({ agent_id: id, state }) => (state === 'ready' ? (fleet.byId(id) ?? []) : []))
  const source = ready.find(({ isReachable }) => isReachable)
  if (source === undefined) throw new CopyEnded(`no host of the ${copy.kind} answers`)
  const { artifact_id: id, kind, workspace_id } = copy
  const subject = { id, kind, workspace_id, requestId }
  await whileHeard(source, signal, async (heard) => {
    const { bake } = await artifactContent(source.client, subject, heard)
    const [copying] = await noteArtifactCopying(pool, copy.id, bake?.hash ?? null)
    if (copying === undefined) throw new CopyEnded(`the ${kind} was deleted`)
    const withoutMemory = comesWithoutMemory(copy)
    const open: Storing['open'] = (part) => {
      const query =
        part === 'own' ? { have: bake === null ? [] : [bake.hash], withoutMemory } : { have: [], only: 'bake' as const }
      return exportArtifact(source.client, subject, query, heard)
    }
    const storing = { control, copy, streams, signal, open }
    const ofBake = bake === null ? null : await storeBake(storing, bake.hash)
    const [stored] = await noteArtifactStored(pool, copy.id, await storeOwn(storing), ofBake)
    if (stored === undefined) throw new CopyEnded(`the ${kind} was deleted`)
  })
}

/** Why a copy ends; `null`: the job repeats it. */
function failureOf(error: unknown): string | null {
  if (error instanceof CopyEnded || error instanceof StoreFailed) return error.message
  if (error instanceof AgentRefused) return reasonOf(error)
  if (error instanceof AgentUnreachable) return 'its host does not answer'
  if (!(error instanceof SourceFailed)) return null
  return error.cause instanceof AgentRefused ? reasonOf(error.cause) : error.message
}
