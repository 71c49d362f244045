import type { SnapshotId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import { type CapturedSandbox, checkpointOrigin } from '../model/capture-options.ts'
import type { Host } from '../model/host.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { stageSnapshot } from './stage-snapshot.ts'

/** Milliseconds to read and sync a checkpoint of gigabytes. */
const SEAL_MS = 300_000

/**
 * Takes a durable snapshot of memory, devices and disk of a sandbox at one instant. The sandbox stays running, paused or
 * hibernated.
 * @throws ApiError 404, 409 id taken, 507 no room on the disk; leaves nothing behind
 */
export async function takeSnapshot(
  host: Host,
  sandbox: Sandbox,
  id: SnapshotId,
  origin: 'user' | 'template' = 'user',
): Promise<SnapshotRecord> {
  await host.store.room.admit('sandbox')
  return host.store.snapshots.make(id, ownerOf(sandbox), async (folder, draft) => {
    const captured = await stageSnapshot(host, sandbox, folder, {
      onStaged: ({ layers }) => {
        draft.layers = layers
      },
    })
    return sealSnapshot(host, sandbox, captured, snapshotOf(sandbox, captured, id, origin))
  })
}

/** The owner of a sandbox's snapshot. */
export function ownerOf({ manifest }: Sandbox): Pick<SnapshotRecord, 'workspace_id' | 'sandbox_id'> {
  return { workspace_id: manifest.workspace_id, sandbox_id: manifest.id }
}

/** The record of a snapshot that is not yet sealed: `size_bytes` counts its memory only. */
export function snapshotOf(
  { manifest }: Sandbox,
  { layers, memoryBytes }: CapturedSandbox,
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

/** Makes a checkpoint durable and signs it, so that it can be verified before a restore. @throws ApiError 507 */
export async function sealSnapshot(
  host: Host,
  sandbox: Sandbox,
  captured: CapturedSandbox,
  record: SnapshotRecord,
): Promise<SnapshotRecord> {
  const deadline = Deadline.after(SEAL_MS, `seal of a checkpoint of ${sandbox.id}`)
  try {
    const machine = host.platform.machines.of(record)
    const { bytes } = await host.store.checkpoints.seal(captured, checkpointOrigin(sandbox), machine, deadline)
    return { ...record, size_bytes: bytes }
  } catch (error) {
    throw await refusal(host, sandbox, 'snapshot could not be written', error)
  }
}
