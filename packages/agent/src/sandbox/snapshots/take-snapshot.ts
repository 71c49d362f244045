import type { SnapshotId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type { Captured } from '../../machine/capture/capture.ts'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import { checkpointOrigin } from '../model/capture-options.ts'
import type { Host } from '../model/host.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { stageSnapshot } from './stage-snapshot.ts'

/** Milliseconds to read and sync a checkpoint of gigabytes. */
const SEAL_MS = 300_000

/**
 * Keeps memory, devices and disk of one instant, on disk when it returns. The sandbox stays what it is: running, paused or
 * hibernated.
 * @throws ApiError 404, 409 id taken, 507 no room on the disk: then nothing is left of it
 */
export async function takeSnapshot(
  host: Host,
  sandbox: Sandbox,
  id: SnapshotId,
  origin: 'user' | 'template' = 'user',
): Promise<SnapshotRecord> {
  await host.room.admit('sandbox')
  return host.snapshots.make(id, ownerOf(sandbox), async (folder, draft) => {
    const captured = await stageSnapshot(host, sandbox, folder, {
      onStaged: ({ layers }) => {
        draft.layers = layers
      },
    })
    return sealSnapshot(host, sandbox, captured, snapshotOf(sandbox, captured, id, origin))
  })
}

/** Whose a snapshot of a sandbox is. */
export function ownerOf({ manifest }: Sandbox): Pick<SnapshotRecord, 'workspace_id' | 'sandbox_id'> {
  return { workspace_id: manifest.workspace_id, sandbox_id: manifest.id }
}

/** `size_bytes` is what is known before it is sealed: its memory's. */
export function snapshotOf(
  { manifest }: Sandbox,
  { layers, memoryBytes }: Captured,
  id: SnapshotId,
  origin: SnapshotRecord['origin'],
): SnapshotRecord {
  const { template, bake, cpu, memory_mb, guest_ip, devices, run_as, durable } = manifest
  return {
    id,
    workspace_id: manifest.workspace_id,
    sandbox_id: manifest.id,
    template,
    bake,
    cpu,
    memory_mb,
    guest_ip,
    size_bytes: memoryBytes,
    created_at: new Date().toISOString(),
    origin,
    layers: [...layers],
    devices,
    run_as,
    durable,
  }
}

/** Makes a checkpoint last, and fit to be trusted again. @throws ApiError 507 */
export async function sealSnapshot(
  host: Host,
  sandbox: Sandbox,
  captured: Captured,
  record: SnapshotRecord,
): Promise<SnapshotRecord> {
  const deadline = Deadline.after(SEAL_MS, `seal of a checkpoint of ${sandbox.id}`)
  try {
    const machine = host.machines.of(record)
    const { bytes } = await host.checkpoints.seal(captured, checkpointOrigin(sandbox), machine, deadline)
    return { ...record, size_bytes: bytes }
  } catch (error) {
    throw await refusal(host, sandbox, 'snapshot could not be written', error)
  }
}
