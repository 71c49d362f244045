import type { Readable } from 'node:stream'
import { ApiError } from '@offshoot/contract/errors'
import type { SnapshotId, WorkspaceId } from '@offshoot/contract/ids'
import { snapshotHeader, type SnapshotHeader } from '@offshoot/contract/move-stream'
import { Deadline } from '@offshoot/kit/deadline'
import { DISK_FORMAT, type SnapshotRecord, writeSnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { Arrival } from '../model/arrivals.ts'
import type { Host } from '../model/host.ts'
import { ArrivingFiles } from './arriving-files.ts'
import { checkSnapshotHeader } from './check-header.ts'
import { KEEP_MS, keepReceivedBake, type Received, receiveFiles, receiveInFolder, requireBake } from './receive.ts'

/**
 * Receives a snapshot from another host, under the same id. When this resolves, everything is on the disk. If it fails, or
 * the agent is killed, nothing of it is left. A snapshot never changes, so one that is here already is the same.
 * @throws ApiError 400 damaged, 409, 507
 */
export async function importSnapshot(
  host: Host,
  { id, workspaceId }: { readonly id: SnapshotId; readonly workspaceId: WorkspaceId },
  body: Readable,
): Promise<SnapshotRecord> {
  const { snapshots } = host.store
  const known = await snapshots.find(id, workspaceId)
  if (known !== null) return known
  if (snapshots.has(id)) throw new ApiError('conflict', { detail: 'a snapshot with this id is already here' })
  const asked = { id, workspaceId, moveId: id }
  const check = (header: SnapshotHeader) => checkSnapshotHeader(header, asked)
  return receiveInFolder(host, asked, { body, mode: 0o700 }, async (arrival, folder) => {
    const files = new ArrivingFiles(host.store, arrival, folder, folder)
    const received = await receiveFiles(host, arrival, files, { body, schema: snapshotHeader, check })
    return keepSnapshot(host, { id, workspaceId }, received, arrival, folder)
  })
}

/** Makes a snapshot of what has come: everything of it is on the disk when this resolves. @throws MoveDamaged */
export async function keepSnapshot(
  host: Host,
  asked: { readonly id: SnapshotId; readonly workspaceId: WorkspaceId },
  received: Received<SnapshotHeader>,
  arrival: Arrival,
  folder: string,
): Promise<SnapshotRecord> {
  const deadline = Deadline.after(KEEP_MS, `import of snapshot ${asked.id}`, arrival.cancelling.signal)
  const record = await keepFiles(host, asked, received, folder, deadline)
  await writeSnapshotRecord(folder, record)
  await requireBake(host, arrival)
  await host.store.snapshots.adopt(record, folder)
  return record
}

/** Verifies and syncs all files, and signs the checkpoint, if there is one. */
async function keepFiles(
  host: Host,
  { id, workspaceId }: Pick<SnapshotRecord, 'id'> & { readonly workspaceId: WorkspaceId },
  received: Received<SnapshotHeader>,
  folder: string,
  deadline: Deadline,
): Promise<SnapshotRecord> {
  const { checkpoints, layers, snapshots } = host.store
  const { header, bake, files } = received
  const { snapshot } = header
  const checkpoint = files.checkpoint(snapshot, header, bake)
  const sealed = files.sealedLayers(header)
  if (checkpoint === null) await checkpoints.acceptLayers(sealed, deadline)
  else await checkpoints.accept(folder, snapshots.folder(id), checkpoint, deadline)
  await layers.sync()
  await keepReceivedBake(host, received, folder, deadline)
  return {
    ...snapshot,
    ...(checkpoint === null && { format: DISK_FORMAT, disk: sealed.map(({ bytes, sha256 }) => ({ bytes, sha256 })) }),
    id,
    workspace_id: workspaceId,
    bake,
    size_bytes: checkpoint?.bytes ?? sealed.at(-1)?.bytes ?? 0,
    layers: sealed.map((layer) => layer.id),
    devices: snapshot.devices.map((device) => ({ ...device, volume: null })),
  }
}
