/**
 * The snapshots of one agent: `snapshots/ID`.
 *
 *     begun ──record──► kept ──delete──► (record struck) ──no user──► (folder gone)
 *
 * Invariants: one that is kept is whole; what becomes of a folder without a record, or with one
 * that cannot be read, is the ledger's to decide. VMs that were
 * restored from a snapshot have its files mapped: a file that is removed goes when the last of them ends.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import { parseSnapshotId, type SnapshotId, type WorkspaceId } from '@offshoot/contract/ids'
import { syncFolder } from '@offshoot/kit/sync-folder'
import type { LayerId } from '../disks/layer-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { readSnapshotRecord, snapshotRecordPath, writeSnapshotRecord, type SnapshotRecord } from './snapshot-record.ts'

/** One that is being made. */
class Draft {
  /** What it has captured, and what is already shown of it. */
  layers: readonly LayerId[] = []
  shown: SnapshotRecord | undefined
  /** Settles, and never rejects, when it is whole or gone. */
  readonly over = Promise.withResolvers<void>()
}

export class Snapshots {
  readonly #folder: string
  readonly #ledger: Ledger
  readonly #kept = new Map<SnapshotId, SnapshotRecord>()
  readonly #begun = new Map<SnapshotId, Draft>()
  /** How many restores read each. */
  readonly #users = new Map<SnapshotId, { count: number; readonly layers: readonly LayerId[] }>()

  private constructor(folder: string, ledger: Ledger) {
    this.#folder = folder
    this.#ledger = ledger
  }

  /** Learns what there is; removes nothing. */
  static async open(folder: string, ledger: Ledger): Promise<Snapshots> {
    const snapshots = new Snapshots(folder, ledger)
    for (const name of await readdir(folder)) {
      const id = parseSnapshotId(name)
      if (id !== null) await snapshots.load(id)
    }
    return snapshots
  }

  /** Reads the record of one that is there. */
  async load(id: SnapshotId): Promise<void> {
    const record = this.#ledger.unreadable.take('snapshot', id, await readSnapshotRecord(this.folder(id)))
    if (record !== null) this.#kept.set(id, record)
  }

  get all(): SnapshotRecord[] {
    const shown = [...this.#begun.values()].flatMap((draft) => draft.shown ?? [])
    return [...this.#kept.values(), ...shown]
  }

  /** Every layer that one of them needs. */
  *layers(): Generator<LayerId> {
    for (const { layers } of this.#kept.values()) yield* layers
    for (const { layers } of this.#users.values()) yield* layers
    for (const { layers } of this.#begun.values()) yield* layers
  }

  /** Once it is whole; `null` also for another workspace's. */
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
   * Makes one in its folder; of one that fails nothing is left.
   * @param owner the sandbox that it is made of
   * @param fill fills the folder, and says in the draft which layers are to be kept as soon as there are any
   * @throws ApiError 409 id taken
   */
  async make(
    id: SnapshotId,
    owner: Pick<SnapshotRecord, 'workspace_id' | 'sandbox_id'>,
    fill: (folder: string, draft: Pick<Draft, 'layers' | 'shown'>) => Promise<SnapshotRecord>,
  ): Promise<SnapshotRecord> {
    const isTaken = this.#kept.has(id) || this.#begun.has(id) || this.#users.has(id)
    if (isTaken || this.#ledger.unreadable.has('snapshot', id)) {
      throw new ApiError('conflict', { detail: 'a snapshot with this id is already here' })
    }
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

  /** Keeps the files of a snapshot while `read` opens them, also when it is deleted meanwhile. */
  async reading<T>({ id, layers }: SnapshotRecord, read: (folder: string) => Promise<T>): Promise<T> {
    const user = this.#users.get(id) ?? { count: 0, layers }
    user.count++
    this.#users.set(id, user)
    try {
      return await read(this.folder(id))
    } finally {
      user.count--
      if (user.count === 0) await this.#release(id)
    }
  }

  /** It is no more from here on; its files go when nobody reads them. */
  async delete({ id }: SnapshotRecord): Promise<void> {
    await this.#ledger.strike(snapshotRecordPath(this.folder(id)))
    this.#kept.delete(id)
    // Whoever hears that it is gone must not find it again after a power cut.
    await syncFolder(this.folder(id)).catch(unlessMissing)
    if (!this.#users.has(id)) await this.#release(id)
  }

  /** Has the ledger decide about folders without a record. */
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
