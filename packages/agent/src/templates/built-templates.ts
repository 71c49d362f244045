/**
 * The templates that were built on this agent: `templates/ID`, each with its image.
 *
 *     built ──record──► kept ──delete──► (record gone) ──► (folder gone)
 *
 * Invariants: one that is kept is whole; a folder without a record was never finished and goes at the next start; a folder
 * whose record cannot be read stays. Its bake is
 * another folder, which stays as long as a sandbox or a snapshot was made from it.
 */
import { link, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseBuildId, type BuildId, type WorkspaceId } from '@offshoot/contract/ids'
import type { UnreadableRecords } from '../ledger/unreadable-records.ts'
import { LOWER, ROOTFS } from '../vm/bake-files.ts'
import type { BakedTemplate } from '../vm/bakes.ts'
import type { TemplateDisk } from './template-disk.ts'
import { readTemplateRecord, templateRecordPath, writeTemplateRecord, type TemplateRecord } from './template-record.ts'

const BLOCK_BYTES = 512

export class BuiltTemplates {
  readonly #folder: string
  readonly #unreadable: UnreadableRecords
  readonly #kept = new Map<BuildId, TemplateRecord>()
  readonly #baked = new Map<BuildId, BakedTemplate>()
  readonly #building = new Set<BuildId>()

  private constructor(folder: string, unreadable: UnreadableRecords) {
    this.#folder = folder
    this.#unreadable = unreadable
  }

  /** Learns what there is; removes nothing. */
  static async open(folder: string, unreadable: UnreadableRecords): Promise<BuiltTemplates> {
    const templates = new BuiltTemplates(folder, unreadable)
    for (const name of await readdir(folder)) {
      const id = parseBuildId(name)
      if (id === null) continue
      const record = unreadable.take('template', id, await readTemplateRecord(join(folder, name)))
      if (record !== null) templates.#kept.set(id, record)
    }
    return templates
  }

  get all(): TemplateRecord[] {
    return [...this.#kept.values()]
  }

  /** `null` also for another workspace's. */
  find(id: BuildId | null, workspaceId: WorkspaceId | null): TemplateRecord | null {
    const record = id === null ? undefined : this.#kept.get(id)
    if (record === undefined || (workspaceId !== null && record.workspace_id !== workspaceId)) return null
    return record
  }

  /** `null` while it cannot be restored: its bake is stale, and is being redone. */
  bakedOf({ id }: TemplateRecord): BakedTemplate | null {
    return this.#baked.get(id) ?? null
  }

  setBaked({ id }: TemplateRecord, baked: BakedTemplate): void {
    if (this.#kept.has(id)) this.#baked.set(id, baked)
  }

  /** Keeps what is baked for it meanwhile. */
  async whileBuilding<T>(id: BuildId, work: () => Promise<T>): Promise<T> {
    this.#building.add(id)
    return work().finally(() => this.#building.delete(id))
  }

  isBeingBuilt(id: BuildId): boolean {
    return this.#building.has(id)
  }

  /** Of one that has no memory. */
  async disk(id: BuildId): Promise<TemplateDisk> {
    const lower = join(this.#folder, id, LOWER)
    return { rootfs: join(this.#folder, id, ROOTFS), lower: (await occupiedBytes(lower)) === null ? null : lower }
  }

  /** Bytes that it takes. */
  async occupiedBytes({ id, memory }: TemplateRecord): Promise<number> {
    if (memory !== null) return memory.bytes
    const { rootfs, lower } = await this.disk(id)
    return ((await occupiedBytes(rootfs)) ?? 0) + (lower === null ? 0 : ((await occupiedBytes(lower)) ?? 0))
  }

  /** @param disk files of which those of the template become second names; `null`: it has memory */
  async keep(record: TemplateRecord, disk: TemplateDisk | null): Promise<void> {
    const folder = join(this.#folder, record.id)
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { mode: 0o700 })
    if (disk !== null) await keepFile(disk.rootfs, join(folder, ROOTFS))
    if (disk !== null && disk.lower !== null) await keepFile(disk.lower, join(folder, LOWER))
    await writeTemplateRecord(folder, record)
    this.#kept.set(record.id, record)
  }

  /** It is no more from here on: no sandbox is made from it. Idempotent. */
  async delete(id: BuildId): Promise<void> {
    const folder = join(this.#folder, id)
    await rm(templateRecordPath(folder), { force: true })
    this.#kept.delete(id)
    this.#baked.delete(id)
    await rm(folder, { recursive: true, force: true })
  }

  /** Removes what was never finished, and what was deleted and never removed. */
  async removeUnfinished(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const id = parseBuildId(name)
      if (id === null || this.#kept.has(id) || this.#unreadable.has('template', id)) continue
      await rm(join(this.#folder, name), { recursive: true, force: true })
    }
  }
}

/** On the disk before the record says that it is there. */
async function keepFile(from: string, to: string): Promise<void> {
  const file = await open(from, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  await link(from, to)
}

/** `null` where there is no such file. */
async function occupiedBytes(path: string): Promise<number | null> {
  return stat(path).then(
    ({ blocks }) => blocks * BLOCK_BYTES,
    () => null,
  )
}
