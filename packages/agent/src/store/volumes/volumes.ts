/**
 * The volumes of one agent: `volumes/ID`.
 *
 *     begun ──record──► kept ──delete──► (folder gone)
 *
 * Invariants: a kept volume is complete. The ledger decides about a folder whose record is absent or unreadable. Every user
 * of a volume has claimed it (`holders.ts`). The file has its recorded size before a guest gets it.
 */
import { chown, open, readdir, stat, truncate, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import { parseVolumeId, type VolumeId, type WorkspaceId } from '@offshoot/contract/ids'
import { createSparseFile } from '../disks/sparse-file.ts'
import { syncFolder } from '@offshoot/kit/sync-folder'
import type { Ledger } from '../ledger/ledger.ts'
import { Holders } from './holders.ts'
import { readVolumeRecord, volumeDataPath, writeVolumeRecord, type VolumeRecord } from './volume-record.ts'

const MIB = 1024 * 1024
const BLOCK_BYTES = 512

export class Volumes {
  readonly holders = new Holders()
  readonly folder: string
  readonly #ledger: Ledger
  readonly #kept = new Map<VolumeId, VolumeRecord>()
  readonly #begun = new Map<VolumeId, { readonly sizeMb: number }>()

  private constructor(folder: string, ledger: Ledger) {
    this.folder = folder
    this.#ledger = ledger
  }

  /** Loads all records. Deletes nothing. */
  static async open(folder: string, ledger: Ledger): Promise<Volumes> {
    const volumes = new Volumes(folder, ledger)
    for (const name of await readdir(folder)) {
      const id = parseVolumeId(name)
      if (id !== null) await volumes.load(id)
    }
    return volumes
  }

  /** Loads the record of one volume. */
  async load(id: VolumeId): Promise<void> {
    const record = this.#ledger.unreadable.take('volume', id, await readVolumeRecord(join(this.folder, id)))
    if (record !== null) this.#kept.set(id, record)
  }

  get all(): VolumeRecord[] {
    return [...this.#kept.values()]
  }

  /** `null` for an unknown volume and for another workspace's. */
  find(id: VolumeId | null, workspaceId: WorkspaceId | null): VolumeRecord | null {
    const record = id === null ? undefined : this.#kept.get(id)
    if (record === undefined || (workspaceId !== null && record.workspace_id !== workspaceId)) return null
    return record
  }

  path(id: VolumeId): string {
    return volumeDataPath(join(this.folder, id))
  }

  /** Makes root the owner of a volume's file again. */
  async takeBack(id: VolumeId): Promise<void> {
    await chown(this.path(id), 0, 0)
  }

  /** Bytes that a volume occupies on the host's disk. */
  async usedBytes(id: VolumeId): Promise<number> {
    return (await stat(this.path(id))).blocks * BLOCK_BYTES
  }

  /** MiB by which the existing volumes may still grow on disk. */
  async promisedMib(): Promise<number> {
    const kept = await Promise.all(
      this.all.map(async ({ id, size_mb }) => {
        const usedBytes = await this.usedBytes(id).catch(() => 0)
        return Math.max(0, size_mb - usedBytes / MIB)
      }),
    )
    const begun = [...this.#begun.values()].map(({ sizeMb }) => sizeMb)
    return [...kept, ...begun].reduce((sum, mib) => sum + mib, 0)
  }

  /**
   * Creates a volume. Leaves nothing behind if it fails.
   * @param fill writes the content into an empty, sparse file of the volume's size
   * @throws ApiError 409 id taken
   */
  async make(record: VolumeRecord, fill: (path: string) => Promise<void>): Promise<VolumeRecord> {
    const { id } = record
    if (this.#kept.has(id) || this.#begun.has(id) || this.#ledger.unreadable.has('volume', id)) {
      throw new ApiError('conflict', { detail: 'a volume with this id is already here' })
    }
    this.#begun.set(id, { sizeMb: record.size_mb })
    const folder = join(this.folder, id)
    try {
      // Tools that check the file run as VM users, which must be able to traverse the folder (`ext4.ts`).
      await this.#ledger.begin(folder, { workspace_id: record.workspace_id, of: null }, 0o711)
      await createSparseFile(this.path(id), record.size_mb * MIB)
      await fill(this.path(id))
      const filled = await open(this.path(id), 'r')
      await close(filled, () => filled.sync())
      await writeVolumeRecord(folder, record)
      await this.#ledger.finish(folder)
      this.#kept.set(id, record)
      return record
    } catch (error) {
      await this.#ledger.discard('volume', folder, 'its making failed')
      throw error
    } finally {
      this.#begun.delete(id)
    }
  }

  /** Changes a record. The caller has claimed the volume. @throws an error of the file system; the record is then unchanged */
  async change(id: VolumeId, change: Partial<VolumeRecord>): Promise<VolumeRecord> {
    const record = this.#kept.get(id)
    if (record === undefined) throw new ApiError('notFound')
    const changed = { ...record, ...change }
    await writeVolumeRecord(join(this.folder, id), changed)
    this.#kept.set(id, changed)
    return changed
  }

  /** Grows the file to its recorded size. Never shrinks it. */
  async stretch({ id, size_mb }: VolumeRecord): Promise<void> {
    const path = this.path(id)
    if ((await stat(path)).size < size_mb * MIB) await truncate(path, size_mb * MIB)
  }

  /** Deletes a volume. @throws ApiError 409 it has a holder */
  async delete(record: VolumeRecord): Promise<void> {
    const holder = { work: 'changed' } as const
    this.holders.claim([{ volume: record, isReadOnly: false }], holder)
    try {
      await this.#ledger.discard('volume', join(this.folder, record.id), 'it was deleted')
      this.#kept.delete(record.id)
      // After the answer, a power cut must not bring the volume back.
      await syncFolder(this.folder)
    } finally {
      this.holders.release(holder)
    }
  }

  /** Lets the ledger decide about folders without a record. */
  async settleUnrecorded(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const id = parseVolumeId(name)
      if (id === null || this.#kept.has(id) || this.#begun.has(id) || this.#ledger.unreadable.has('volume', id))
        continue
      await this.#ledger.settleUnrecorded('volume', id, join(this.folder, name))
    }
  }
}

async function close(file: FileHandle, after: () => Promise<unknown>): Promise<void> {
  try {
    await after()
  } finally {
    await file.close()
  }
}
