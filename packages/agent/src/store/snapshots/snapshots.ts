/**
 * The snapshots of one agent: `snapshots/ID`.
 *
 *     begun ──record──► kept ──delete──► (record struck) ──no user──► (folder gone)
 *     (another host's) ──adopt──► kept
 *
 * Invariants: a kept snapshot is complete. The ledger decides about a folder whose record is absent or unreadable. VMs map the
 * files of the snapshot that they were restored from: the kernel frees a deleted file when the last of these VMs ends.
 */
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import { parseSnapshotId, type SnapshotId, type WorkspaceId } from '@offshoot/contract/ids'
import { syncFolder } from '@offshoot/kit/sync-folder'
import type { LayerId } from '../disks/layer-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { readSnapshotRecord, snapshotRecordPath, writeSnapshotRecord, type SnapshotRecord } from './snapshot-record.ts'

/** A snapshot that is being made. */
class Draft {
  /** The captured layers, which a sweep must keep. `shown` is the record, if callers can already see the snapshot. */
  layers: readonly LayerId[] = []
  shown: SnapshotRecord | undefined
  /** Resolves when the snapshot is complete or discarded. Never rejects. */
  readonly over = Promise.withResolvers<void>()
}

export class Snapshots {
  readonly #folder: string
  readonly #ledger: Ledger
  readonly #kept = new Map<SnapshotId, SnapshotRecord>()
  readonly #begun = new Map<SnapshotId, Draft>()
  /** The snapshots that restores and exports are reading, and by how many. */
  readonly #users = new Map<SnapshotId, { count: number; readonly record: SnapshotRecord }>()

  private constructor(folder: string, ledger: Ledger) {
    this.#folder = folder
    this.#ledger = ledger
  }

  /** Loads all records. Deletes nothing. */
  static async open(folder: string, ledger: Ledger): Promise<Snapshots> {
    const snapshots = new Snapshots(folder, ledger)
    for (const name of await readdir(folder)) {
      const id = parseSnapshotId(name)
      if (id !== null) await snapshots.load(id)
    }
    return snapshots
  }

  /** Loads the record of one snapshot. */
  async load(id: SnapshotId): Promise<void> {
    const record = this.#ledger.unreadable.take('snapshot', id, await readSnapshotRecord(this.folder(id)))
    if (record !== null) this.#kept.set(id, record)
  }

  get all(): SnapshotRecord[] {
    const shown = [...this.#begun.values()].flatMap((draft) => draft.shown ?? [])
    return [...this.#kept.values(), ...shown]
  }

  /** All bakes that a snapshot needs, `NAME/FINGERPRINT`. */
  *bakes(): Generator<string> {
    for (const { bake } of this.all) yield bake
    for (const { record } of this.#users.values()) yield record.bake
  }

  /** All layers that a snapshot needs. */
  *layers(): Generator<LayerId> {
    for (const { layers } of this.#kept.values()) yield* layers
    for (const { record } of this.#users.values()) yield* record.layers
    for (const { layers } of this.#begun.values()) yield* layers
  }

  /** Waits until the snapshot is complete. `null` for an unknown one and for another workspace's. */
  async find(id: SnapshotId, workspaceId: WorkspaceId | null): Promise<SnapshotRecord | null> {
    await this.#begun.get(id)?.over.promise
    const record = this.#kept.get(id)
    if (record === undefined || (workspaceId !== null && record.workspace_id !== workspaceId)) return null
    return record
  }

  has(id: SnapshotId): boolean {
    return this.#kept.has(id)
  }

  folder(id: SnapshotId): string {
    return join(this.#folder, id)
  }

  /**
   * Creates a snapshot in its folder. Leaves nothing behind if it fails.
   * @param owner the sandbox of which it is made
   * @param fill fills the folder, and names the captured layers in the draft as soon as they exist
   * @throws ApiError 409 id taken
   */
  async make(
    id: SnapshotId,
    owner: Pick<SnapshotRecord, 'workspace_id' | 'sandbox_id'>,
    fill: (folder: string, draft: Pick<Draft, 'layers' | 'shown'>) => Promise<SnapshotRecord>,
  ): Promise<SnapshotRecord> {
    this.#refuseTaken(id)
    const draft = new Draft()
    this.#begun.set(id, draft)
    const folder = this.folder(id)
    try {
      const of = { kind: 'sandbox', id: owner.sandbox_id } as const
      await this.#ledger.begin(folder, { workspace_id: owner.workspace_id, of }, 0o700)
      const record = await fill(folder, draft)
      await writeSnapshotRecord(folder, record)
      await this.#ledger.finish(folder)
      this.#kept.set(id, record)
      return record
    } catch (error) {
      await this.#ledger.discard('snapshot', folder, 'its making failed')
      throw error
    } finally {
      this.#begun.delete(id)
      draft.over.resolve()
    }
  }

  /**
   * Takes over a complete snapshot that another host has made, in one step.
   * @param from its folder, with its record
   * @throws ApiError 409 id taken; then the folder stays
   */
  async adopt(record: SnapshotRecord, from: string): Promise<void> {
    const { id } = record
    this.#refuseTaken(id)
    const draft = new Draft()
    this.#begun.set(id, draft)
    try {
      await rename(from, this.folder(id))
      await syncFolder(this.#folder).catch(async (error: unknown) => {
        await this.#ledger.discard('snapshot', this.folder(id), 'its import failed')
        throw error
      })
      this.#kept.set(id, record)
    } finally {
      this.#begun.delete(id)
      draft.over.resolve()
    }
  }

  #refuseTaken(id: SnapshotId): void {
    const isTaken = this.#kept.has(id) || this.#begun.has(id) || this.#users.has(id)
    if (isTaken || this.#ledger.unreadable.has('snapshot', id)) {
      throw new ApiError('conflict', { detail: 'a snapshot with this id is already here' })
    }
  }

  /** Keeps the files of a snapshot while `read` opens them, even if it is deleted meanwhile. */
  async reading<T>(record: SnapshotRecord, read: (folder: string) => Promise<T>): Promise<T> {
    const { id } = record
    const user = this.#users.get(id) ?? { count: 0, record }
    user.count++
    this.#users.set(id, user)
    try {
      return await read(this.folder(id))
    } finally {
      user.count--
      if (user.count === 0) await this.#release(id)
    }
  }

  /** Deletes a snapshot. Its files are deleted when no restore reads them any more. */
  async delete({ id }: SnapshotRecord): Promise<void> {
    await this.#ledger.strike(snapshotRecordPath(this.folder(id)))
    this.#kept.delete(id)
    // After the answer, a power cut must not bring the snapshot back.
    await syncFolder(this.folder(id)).catch(unlessMissing)
    if (!this.#users.has(id)) await this.#release(id)
  }

  /** Lets the ledger decide about folders without a record. */
  async settleUnrecorded(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const id = parseSnapshotId(name)
      if (id === null || this.#kept.has(id) || this.#begun.has(id) || this.#users.has(id)) continue
      if (this.#ledger.unreadable.has('snapshot', id)) continue
      await this.#ledger.settleUnrecorded('snapshot', id, this.folder(id))
    }
  }

  async #release(id: SnapshotId): Promise<void> {
    this.#users.delete(id)
    if (!this.#kept.has(id)) await this.#ledger.discard('snapshot', this.folder(id), 'it was deleted')
  }
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
