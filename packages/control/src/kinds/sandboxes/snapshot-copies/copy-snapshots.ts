import { AgentRefused, AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { hostsOfSnapshot } from '../../../fleet/snapshot-host-statements.ts'
import {
  beginSnapshotCopies,
  endSnapshotCopy,
  noteSnapshotCopying,
  noteSnapshotStored,
  snapshotCopyById,
  type SnapshotCopyRow,
  unfinishedSnapshotCopies,
} from '../../../fleet/snapshot-copy-statements.ts'
import { exportSnapshot, snapshotContent } from '../../../fleet/snapshot-move-calls.ts'
import { reasonOf, SourceFailed } from '../../../fleet/stream-calls.ts'
import type { RecurringTask, RowTask } from '../../../platform/jobs/task.ts'
import { CopyEnded, storeBake, type Storing, storeOwn } from '../copies/store-copy.ts'
import { StoreFailed } from '../model/stored-streams.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { comesWithoutMemory } from './bring-snapshot.ts'

/** Seconds between two runs of the job of a copy that does not get on. */
const RETRY_SECONDS = 10
/** Milliseconds between two rounds, and while there are more snapshots to copy. */
const EVERY_MS = 10_000
const NEXT_MS = 500
/** Seconds after which a snapshot is copied: many are deleted within a minute. */
const MAX_AFTER_SECONDS = 60
/** Seconds after which a snapshot is copied again that could not be copied. */
const MAX_AGAIN_SECONDS = 600
/** Copies that are stored at the same time. */
const MAX_AT_ONCE = 2

/** Begins the copies of snapshots that have none. */
export function planSnapshotCopies({ database, fleet, config }: SandboxesContext): RecurringTask {
  const [after, again] = [MAX_AFTER_SECONDS, MAX_AGAIN_SECONDS].map((most) => Math.min(most, config.copy_after_seconds))
  return {
    name: 'plan-snapshot-copies',
    async recur() {
      const begun = await beginSnapshotCopies(database.pool, after ?? 0, again ?? 0, fleet.reachable, MAX_AT_ONCE)
      return begun.length > 0 ? NEXT_MS : Math.min(EVERY_MS, config.copy_after_seconds * 1000)
    },
  }
}

/**
 * Stores copies of snapshots in the object store (docs/internal-api.md, "Copy of a snapshot"). A copy that fails ends, and
 * another one begins later. One that is stored stays until its snapshot is deleted, because a snapshot never changes.
 */
export function copySnapshots(control: SandboxesContext): RowTask {
  const { pool } = control.database
  return {
    name: 'copy-snapshot',
    retrySeconds: RETRY_SECONDS,
    due: async (limit) => (control.storedStreams === null ? [] : unfinishedSnapshotCopies(pool, limit)),
    async work({ id, requestId, signal }) {
      const [copy] = await snapshotCopyById(pool, id)
      // What another run has sent of the stream is not known.
      if (copy?.state === 'copying') await endSnapshotCopy(pool, id, 'the copy was interrupted')
      if (copy?.state !== 'waiting') return
      try {
        await store(control, copy, requestId, signal)
      } catch (error) {
        signal.throwIfAborted()
        const reason = failureOf(error)
        if (reason === null) throw error
        if (!(error instanceof CopyEnded)) {
          control.log.warn({ err: error, snapshot: copy.snapshot_id }, 'snapshot not copied: trying again later')
        }
        await endSnapshotCopy(pool, id, reason)
      }
    },
  }
}

async function store(
  control: SandboxesContext,
  copy: SnapshotCopyRow,
  requestId: string,
  signal: AbortSignal,
): Promise<void> {
  const { database, fleet, storedStreams: streams } = control
  const { pool } = database
  if (streams === null) throw new CopyEnded('there is no object store')
  const hosts = await hostsOfSnapshot(pool, copy.snapshot_id)
  const ready = hosts.flatMap(({ agent_id: id, state }) => (state === 'ready' ? (fleet.byId(id) ?? []) : []))
  const source = ready.find(({ isReachable }) => isReachable)?.client
  if (source === undefined) throw new CopyEnded('no host of the snapshot answers')
  const subject = { id: copy.snapshot_id, workspaceId: copy.workspace_id, requestId }
  const { bake } = await snapshotContent(source, subject)
  const [copying] = await noteSnapshotCopying(pool, copy.id, bake.hash)
  if (copying === undefined) throw new CopyEnded('the snapshot was deleted')
  const withoutMemory = comesWithoutMemory(copy)
  const open: Storing['open'] = (part) => {
    const query = part === 'own' ? { have: [bake.hash], withoutMemory } : { have: [], only: 'bake' as const }
    return exportSnapshot(source, subject, query, signal)
  }
  const storing = { control, copy, streams, signal, open }
  const ofBake = await storeBake(storing, bake.hash)
  const [stored] = await noteSnapshotStored(pool, copy.id, await storeOwn(storing), ofBake)
  if (stored === undefined) throw new CopyEnded('the snapshot was deleted')
}

/** Why a copy ends; `null`: the job repeats it. */
function failureOf(error: unknown): string | null {
  if (error instanceof CopyEnded || error instanceof StoreFailed) return error.message
  if (error instanceof AgentRefused) return reasonOf(error)
  if (error instanceof AgentUnreachable) return 'its host does not answer'
  if (!(error instanceof SourceFailed)) return null
  return error.cause instanceof AgentRefused ? reasonOf(error.cause) : error.message
}
