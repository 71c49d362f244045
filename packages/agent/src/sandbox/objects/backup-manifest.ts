import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import { layerId } from '../../store/disks/layer-id.ts'
import type { HostStore } from '../model/host.ts'

/** Bytes of a chunk before its compression. */
export const CHUNK_BYTES = 8 * 1024 * 1024

/** The name of the object that is written last: a backup without it is not complete. */
export const MANIFEST_NAME = 'manifest'

/** A file of the snapshot's folder, or a layer of its disk. */
const backupFile = z.union([
  z.object({ file: z.string().regex(/^[a-z0-9][a-z0-9.-]*$/) }),
  z.object({ layer: layerId }),
])
export type BackupFile = z.infer<typeof backupFile>

export const backupManifest = z.object({
  files: z.array(
    z.intersection(
      backupFile,
      z.object({
        bytes: z.int().min(0),
        /** Hashes of the chunks in order; `null`: zeros. */
        chunks: z.array(
          z
            .string()
            .regex(/^[0-9a-f]{64}$/)
            .nullable(),
        ),
      }),
    ),
  ),
})
export type BackupManifest = z.infer<typeof backupManifest>

export function pathOf(
  { layers, snapshots }: Pick<HostStore, 'layers' | 'snapshots'>,
  id: SnapshotRecord['id'],
  file: BackupFile,
): string {
  return 'layer' in file ? layers.path(file.layer) : join(snapshots.folder(id), file.file)
}

/** All files that a snapshot needs, in an order in which its record comes last. */
export async function filesOf(
  { snapshots }: Pick<HostStore, 'snapshots'>,
  { id, layers }: SnapshotRecord,
): Promise<BackupFile[]> {
  const names = (await readdir(snapshots.folder(id))).filter((name) => /^[a-z0-9][a-z0-9.-]*$/.test(name))
  const sorted = names.toSorted((a, b) => Number(isRecord(a)) - Number(isRecord(b)))
  return [...layers.map((layer) => ({ layer })), ...sorted.map((file) => ({ file }))]
}

function isRecord(name: string): boolean {
  return name.endsWith('.json')
}
