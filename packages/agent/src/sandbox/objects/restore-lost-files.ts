import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import { ApiError } from '@offshoot/contract/errors'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { isPresent } from '../../store/ledger/is-present.ts'
import type { ObjectCopies } from '../../store/objects/object-copies.ts'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { HostStore } from '../model/host.ts'
import { type BackupManifest, backupManifest, CHUNK_BYTES, filesOf, MANIFEST_NAME, pathOf } from './backup-manifest.ts'

type LostFile = BackupManifest['files'][number]

/**
 * Restores the files of a backup that this host has lost from the object store. The checkpoint's signature covers their
 * content, and its opening verifies it. No effect without an object store, and for other snapshots.
 * @throws ApiError 409 if the store cannot deliver them at present
 */
export async function restoreLostFiles(store: HostStore, record: SnapshotRecord, signal: AbortSignal): Promise<void> {
  const { objects } = store
  if (objects === null || !record.durable || !(await hasLostFiles(store, record))) return
  const manifest = await readObject(objects.backups, record, MANIFEST_NAME, signal)
  if (manifest === null) return
  const { files } = backupManifest.parse(JSON.parse(manifest.toString()))
  for (const file of files) {
    const path = pathOf(store, record.id, file)
    if (!(await isPresent(path))) await restoreFile(store, objects.backups, record, file, signal)
  }
}

/** The checkpoint's record is written last, so its folder is complete unless one of these is missing. */
async function hasLostFiles(store: HostStore, record: SnapshotRecord): Promise<boolean> {
  const wanted = [
    ...record.layers.map((layer) => ({ layer })),
    ...(record.disk === undefined ? ['pages', 'runs', 'state', 'checkpoint.json'] : []).map((file) => ({ file })),
  ]
  const files = await filesOf(store, record).catch(() => [])
  for (const file of [...wanted, ...files]) if (!(await isPresent(pathOf(store, record.id, file)))) return true
  return false
}

async function restoreFile(
  store: HostStore,
  copies: ObjectCopies,
  record: SnapshotRecord,
  lost: LostFile,
  signal: AbortSignal,
): Promise<void> {
  const unfinished = join(store.dir.restoring, randomUUID())
  try {
    await download(copies, record, lost, unfinished, signal)
    const path = pathOf(store, record.id, lost)
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await rename(unfinished, path)
    await syncFolder(dirname(path))
  } finally {
    await rm(unfinished, { force: true })
  }
}

async function download(
  copies: ObjectCopies,
  record: SnapshotRecord,
  { bytes, chunks }: LostFile,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const file = await open(path, 'wx', 0o400)
  try {
    await file.truncate(bytes)
    for (const [index, name] of chunks.entries()) {
      if (name === null) continue
      const packed = await readObject(copies, record, name, signal)
      const chunk = packed && (await promisify(zstdDecompress)(packed, { maxOutputLength: CHUNK_BYTES }))
      if (chunk === null || createHash('sha256').update(chunk).digest('hex') !== name)
        throw unreadable(`chunk ${name} is missing or damaged`)
      await file.write(chunk, 0, chunk.length, index * CHUNK_BYTES)
    }
    await file.sync()
  } finally {
    await file.close()
  }
}

async function readObject(
  copies: ObjectCopies,
  { id }: SnapshotRecord,
  name: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const read = await copies.get(id, name, signal)
  if (read.state === 'unreadable') throw unreadable(read.reason)
  return read.state === 'absent' ? null : read.content
}

function unreadable(reason: string): ApiError {
  return new ApiError('conflict', { detail: `the backup cannot be read from the object store: ${reason}` })
}
