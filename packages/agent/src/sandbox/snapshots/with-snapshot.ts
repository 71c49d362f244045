import { NO_SNAPSHOT } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import type { SnapshotId, WorkspaceId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type { Host } from '../model/host.ts'
import { type Seed, seedOfSnapshot } from '../pool/seed.ts'
import { sealedDisk } from '../../store/snapshots/snapshot-record.ts'
import { restoreLostFiles } from '../objects/restore-lost-files.ts'
import { refusalOfCheckpoint } from '../model/refusal.ts'

/** Milliseconds to check every byte of a snapshot of gigabytes. */
const OPEN_MS = 120_000

/**
 * Verifies a snapshot and creates a sandbox from it. Keeps the snapshot's files meanwhile. If this host has it without its
 * memory, the seed has none.
 * @throws ApiError 404; 409 made for another machine; 500 changed on disk
 */
export async function withSnapshot<T>(
  host: Host,
  id: SnapshotId | null,
  workspaceId: WorkspaceId,
  use: (seed: Seed) => Promise<T>,
): Promise<T> {
  const record = id === null ? null : await host.store.snapshots.find(id, workspaceId)
  if (record === null) throw new ApiError('notFound', { detail: NO_SNAPSHOT })
  return host.store.snapshots.reading(record, async (folder) => {
    const deadline = Deadline.after(OPEN_MS, `check of snapshot ${record.id}`)
    await restoreLostFiles(host.store, record, deadline.signal)
    const { checkpoints } = host.store
    const disk = sealedDisk(record)
    if (disk !== null) {
      await checkpoints.checkLayers(disk, deadline).catch(refuse)
      return use(seedOfSnapshot(record, { folder: null, bases: 0, qemuVersion: undefined }, 'snapshot'))
    }
    const { memory, qemuVersion } = await checkpoints.open(folder, host.platform.machines.of, deadline).catch(refuse)
    return use(seedOfSnapshot(record, { folder, bases: memory.length - 1, qemuVersion }, 'snapshot'))
  })
}

function refuse(error: unknown): never {
  throw refusalOfCheckpoint('snapshot cannot be restored', error)
}
