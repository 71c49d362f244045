import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { zstdCompress } from 'node:zlib'
import type { ObjectCopies } from '../../store/objects/object-copies.ts'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { HostStore } from '../model/host.ts'
import { type BackupManifest, CHUNK_BYTES, filesOf, MANIFEST_NAME, pathOf } from './backup-manifest.ts'

const ZEROS = Buffer.alloc(CHUNK_BYTES)

/**
 * Uploads a backup in chunks, and its manifest when the store has them all. A later call continues where one has failed.
 * @throws if a file cannot be read or uploaded
 */
export async function uploadBackup(
  store: HostStore,
  copies: ObjectCopies,
  record: SnapshotRecord,
  signal: AbortSignal,
): Promise<void> {
  const { id } = record
  const stored = await copies.files.stored(id)
  if (stored.has(MANIFEST_NAME)) return
  await store.snapshots.reading(record, async () => {
    const files: BackupManifest['files'] = []
    for (const file of await filesOf(store, record)) {
      const chunks: (string | null)[] = []
      const path = pathOf(store, id, file)
      const bytes = await readChunks(path, async (chunk) => {
        const isEmpty = chunk.equals(ZEROS.subarray(0, chunk.length))
        const name = isEmpty ? null : createHash('sha256').update(chunk).digest('hex')
        chunks.push(name)
        if (name === null || stored.has(name)) return
        if (!store.snapshots.has(id)) throw new Error('the backup was deleted meanwhile')
        await copies.put(id, name, await promisify(zstdCompress)(chunk), signal)
        stored.add(name)
      })
      files.push({ ...file, bytes, chunks })
    }
    await copies.put(id, MANIFEST_NAME, Buffer.from(JSON.stringify({ files })), signal)
  })
}

/** @returns the number of bytes */
async function readChunks(path: string, use: (chunk: Buffer) => Promise<void>): Promise<number> {
  const file = await open(path)
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    for (let at = 0; ; at += CHUNK_BYTES) {
      const bytes = await readFull(file, buffer, at)
      if (bytes > 0) await use(buffer.subarray(0, bytes))
      if (bytes < CHUNK_BYTES) return at + bytes
    }
  } finally {
    await file.close()
  }
}

/** A read may return less than it was asked for before the file's end. */
async function readFull(file: Awaited<ReturnType<typeof open>>, into: Buffer, at: number): Promise<number> {
  let filled = 0
  while (filled < into.length) {
    const { bytesRead } = await file.read(into, filled, into.length - filled, at + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return filled
}
