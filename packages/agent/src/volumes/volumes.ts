/**
 * The volumes of one agent: `volumes/ID`.
 *
 *     begun ──record──► kept ──delete──► (record gone) ──► (folder gone)
 *
 * Invariants: one that is kept is whole; a folder without a record was never finished and goes at the next start; a folder
 * whose record cannot be read stays. Who uses one
 * has claimed it (`holders.ts`). The file is as large as the record says before anybody gets it.
 */
import { mkdir, open, readdir, rm, stat, truncate, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import { parseVolumeId, type VolumeId, type WorkspaceId } from '@offshoot/contract/ids'
import type { UnreadableRecords } from '../ledger/unreadable-records.ts'
import { Holders } from './holders.ts'
import {
  readVolumeRecord,
  volumeDataPath,
  volumeRecordPath,
  writeVolumeRecord,
  type VolumeRecord,
} from './volume-record.ts'

const MIB = 1024 * 1024
const BLOCK_BYTES = 512

export class Volumes {
  readonly holders = new Holders()
  readonly folder: string
  readonly #unreadable: UnreadableRecords
  readonly #kept = new Map<VolumeId, VolumeRecord>()
  readonly #begun = new Map<VolumeId, { readonly sizeMb: number }>()

  private constructor(folder: string, unreadable: UnreadableRecords) {
    this.folder = folder
    this.#unreadable = unreadable
  }

  /** Learns what there is; removes nothing. */
  static async open(folder: string, unreadable: UnreadableRecords): Promise<Volumes> {
    const volumes = new Volumes(folder, unreadable)
    for (const name of await readdir(folder)) {
      const id = parseVolumeId(name)
      if (id === null) continue
      const record = unreadable.take('volume', id, await readVolumeRecord(join(folder, name)))
      if (record !== null) volumes.#kept.set(id, record)
    }
    return volumes
  }

  get all(): VolumeRecord[] {
    return [...this.#kept.values()]
  }

  /** `null` also for another workspace's. */
  find(id: VolumeId | null, workspaceId: WorkspaceId | null): VolumeRecord | null {
    const record = id === null ? undefined : this.#kept.get(id)
    if (record === undefined || (workspaceId !== null && record.workspace_id !== workspaceId)) return null
    return record
  }

  path(id: VolumeId): string {
    return volumeDataPath(join(this.folder, id))
  }

  /** Bytes that it takes on the host's disk. */
  async usedBytes(id: VolumeId): Promise<number> {
    return (await stat(this.path(id))).blocks * BLOCK_BYTES
  }

  /** MiB that those there are may still come to take. */
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
   * Makes one; of one that fails nothing is left.
   * @param fill makes of an empty, sparse file of the size what it is to hold
   * @throws ApiError 409 id taken
   */
  async make(record: VolumeRecord, fill: (path: string) => Promise<void>): Promise<VolumeRecord> {
    const { id } = record
    if (this.#kept.has(id) || this.#begun.has(id) || this.#unreadable.has('volume', id)) {
      throw new ApiError('conflict', { detail: 'a volume with this id is already here' })
    }
    this.#begun.set(id, { sizeMb: record.size_mb })
    const folder = join(this.folder, id)
    try {
      // QEMU's users pass through to what their tools check (`ext4.ts`).
      await mkdir(folder, { mode: 0o711 })
      const file = await open(this.path(id), 'wx', 0o600)
      await close(file, () => file.truncate(record.size_mb * MIB))
      await fill(this.path(id))
      const filled = await open(this.path(id), 'r')
      await close(filled, () => filled.sync())
      await writeVolumeRecord(folder, record)
      this.#kept.set(id, record)
      return record
    } catch (error) {
      await rm(folder, { recursive: true, force: true })
      throw error
    } finally {
      this.#begun.delete(id)
    }
  }

  /** For who has claimed it. @throws as the file system does: the record is as before */
  async change(id: VolumeId, change: Partial<VolumeRecord>): Promise<VolumeRecord> {
    const record = this.#kept.get(id)
    if (record === undefined) throw new ApiError('notFound')
    const changed = { ...record, ...change }
    await writeVolumeRecord(join(this.folder, id), changed)
    this.#kept.set(id, changed)
    return changed
  }

  /** Makes the file as large as the record says; it is never made smaller. */
  async stretch({ id, size_mb }: VolumeRecord): Promise<void> {
    const path = this.path(id)
    if ((await stat(path)).size < size_mb * MIB) await truncate(path, size_mb * MIB)
  }

  /** It is no more from here on. @throws ApiError 409 somebody has it */
  async delete(record: VolumeRecord): Promise<void> {
    const holder = { work: 'changed' } as const
    this.holders.claim([{ volume: record, isReadOnly: false }], holder)
    try {
      const folder = join(this.folder, record.id)
      await rm(volumeRecordPath(folder), { force: true })
      this.#kept.delete(record.id)
      await rm(folder, { recursive: true, force: true })
    } finally {
      this.holders.release(holder)
    }
  }

  /** Removes what was never finished, and what was deleted and never removed. */
  async removeUnfinished(): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const id = parseVolumeId(name)
      if (id === null || this.#kept.has(id) || this.#begun.has(id) || this.#unreadable.has('volume', id)) continue
      await rm(join(this.folder, name), { recursive: true, force: true })
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
