import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { join } from 'node:path'
import type { AgentSnapshotContent } from '@offshoot/contract/agent-move'
import { ApiError } from '@offshoot/contract/errors'
import {
  MAX_MOVED_LAYERS,
  type MovedSnapshot,
  type MovedTemplate,
  type SnapshotHeader,
} from '@offshoot/contract/move-stream'
import type { Checkpoint } from '../../store/checkpoints/checkpoint.ts'
import { sealedDisk, type SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { Host } from '../model/host.ts'
import { refusalOfCheckpoint } from '../model/refusal.ts'
import { restoreLostFiles } from '../objects/restore-lost-files.ts'
import { writeFiles } from './leave.ts'
import { filesOfBake, layerFiles, memoryFilesOf, memoryOf, type MovingFile } from './moving-files.ts'

/** What an export of the snapshot has. @throws ApiError 409, 500 */
export async function snapshotContent(host: Host, record: SnapshotRecord): Promise<AgentSnapshotContent> {
  const { hash, disk_bytes: bytes } = await host.store.bakeContents.describe(record.bake)
  const { own, checkpoint } = await host.store.snapshots.reading(record, (folder) => contentOf(host, record, folder))
  return { bytes: bytesOf(own), bake: { hash, bytes }, has_memory: checkpoint !== null }
}

export interface SnapshotExport {
  /** Hashes of the bakes that the other host has. */
  readonly have: readonly string[]
  /** Nothing but the bake. */
  readonly only?: 'bake' | undefined
  /** `none`: the stream lacks the memory. */
  readonly memory?: 'none' | undefined
  /** The template whose memory and disk the snapshot has. */
  readonly template?: MovedTemplate
}

/**
 * Everything that another host needs of a snapshot. Its files stay until the stream is closed, even if it is deleted
 * meanwhile. A stream that fails ends without its end mark.
 * @throws ApiError 400, 409, 500
 */
export async function exportSnapshot(host: Host, record: SnapshotRecord, asked: SnapshotExport): Promise<Readable> {
  const opened = Promise.withResolvers<Readable>()
  host.store.snapshots
    .reading(record, async (folder) => {
      const stream = await open(host, record, folder, asked)
      opened.resolve(stream)
      await finished(stream).catch(() => undefined)
    })
    .catch(opened.reject)
  return opened.promise
}

async function open(
  host: Host,
  record: SnapshotRecord,
  folder: string,
  { have, only, memory, template }: SnapshotExport,
): Promise<Readable> {
  if (memory === 'none' && !record.durable) {
    throw new ApiError('invalidField', { error: 'memory=none needs a snapshot of a durable sandbox' })
  }
  const { own, checkpoint } = await contentOf(host, record, folder)
  const isCold = memory === 'none' || checkpoint === null
  const wanted = isCold ? own.filter(({ name }) => !name.startsWith('memory/')) : own
  const bake = await host.store.bakeContents.describe(record.bake)
  const isIncluded = !have.includes(bake.hash)
  const files = [
    ...(only === 'bake' ? [] : wanted),
    ...(isIncluded ? filesOfBake(join(host.store.dir.bakes, record.bake), bake) : []),
  ]
  const header: SnapshotHeader = {
    format: 1,
    snapshot: describe(record),
    ...(template !== undefined && { template }),
    memory: isCold ? null : memoryOf(checkpoint),
    layers: record.layers.length,
    bake: { hash: bake.hash, is_included: isIncluded },
    disk_bytes: (only === 'bake' ? 0 : bytesOf(wanted)) + (isIncluded ? bake.disk_bytes : 0),
    files: files.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
  }
  return writeFiles(header, files)
}

/** The files without the bake, and the checkpoint; `null` if this host has only the disk. */
async function contentOf(
  host: Host,
  record: SnapshotRecord,
  folder: string,
): Promise<{ readonly own: MovingFile[]; readonly checkpoint: Checkpoint | null }> {
  if (record.layers.length > MAX_MOVED_LAYERS)
    throw new ApiError('conflict', { detail: 'its disk has too many layers' })
  await restoreLostFiles(host.store, record, new AbortController().signal)
  const disk = sealedDisk(record)
  if (disk !== null) return { own: await layerFiles(host, record.layers, { layers: disk }), checkpoint: null }
  const checkpoint = await host.store.checkpoints.read(folder).catch((error: unknown) => {
    throw refusalOfCheckpoint('snapshot cannot be read', error)
  })
  const own = [...memoryFilesOf(folder, checkpoint), ...(await layerFiles(host, record.layers, checkpoint))]
  return { own, checkpoint }
}

function bytesOf(files: readonly MovingFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

function describe(record: SnapshotRecord): MovedSnapshot {
  const { id, workspace_id, sandbox_id, template, cpu, memory_mb, guest_ip, created_at, origin, run_as, durable } =
    record
  const devices = record.devices.map(({ place, read_only }) => ({ place, read_only }))
  const machine = { cpu, memory_mb, guest_ip, devices }
  return { id, workspace_id, sandbox_id, template, created_at, origin, ...machine, run_as, durable }
}
