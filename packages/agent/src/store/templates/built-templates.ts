/**
 * The templates that were built on this agent: `templates/ID`, each with its image.
 *
 *     built ──record──► kept ──delete──► (folder gone)
 *
 * Invariants: a kept template is complete. The ledger decides about a folder whose record is absent or unreadable. A template's
 * bake is a separate folder, which is kept as long as a sandbox or a snapshot needs it.
 */
import { link, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseBuildId, type BuildId, type WorkspaceId } from '@offshoot/contract/ids'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { isPresent } from '../ledger/is-present.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { LOWER, ROOTFS } from '../bakes/bake-files.ts'
import { readTemplateRecord, writeTemplateRecord, type TemplateDisk, type TemplateRecord } from './template-record.ts'

const BLOCK_BYTES = 512

/** @typeParam Baked the result of baking a template, which this class stores for the code that restores it */
export class BuiltTemplates<Baked> {
  readonly #folder: string
  readonly #ledger: Ledger
  readonly #kept = new Map<BuildId, TemplateRecord>()
  readonly #baked = new Map<BuildId, Baked>()
  readonly #building = new Set<BuildId>()

  private constructor(folder: string, ledger: Ledger) {
    this.#folder = folder
    this.#ledger = ledger
  }

  /** Loads all records. Deletes nothing. */
  static async open<Baked>(folder: string, ledger: Ledger): Promise<BuiltTemplates<Baked>> {
    const templates = new BuiltTemplates<Baked>(folder, ledger)
    for (const name of await readdir(folder)) {
      const id = parseBuildId(name)
      if (id !== null) await templates.load(id)
    }
    return templates
  }

  /** Loads the record of one template. */
  async load(id: BuildId): Promise<void> {
    const record = this.#ledger.unreadable.take('template', id, await readTemplateRecord(join(this.#folder, id)))
    if (record !== null) this.#kept.set(id, record)
  }

  get all(): TemplateRecord[] {
    return [...this.#kept.values()]
  }

  /** `null` for an unknown template and for another workspace's. */
  find(id: BuildId | null, workspaceId: WorkspaceId | null): TemplateRecord | null {
    const record = id === null ? undefined : this.#kept.get(id)
    if (record === undefined || (workspaceId !== null && record.workspace_id !== workspaceId)) return null
    return record
  }

  /** `null` while its bake is stale and the agent bakes it again. */
  bakedOf({ id }: TemplateRecord): Baked | null {
    return this.#baked.get(id) ?? null
  }

  setBaked({ id }: TemplateRecord, baked: Baked): void {
    if (this.#kept.has(id)) this.#baked.set(id, baked)
  }

  /** Protects the template's bake from the sweep while `work` runs. */
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
    return { rootfs: join(this.#folder, id, ROOTFS), lower: (await isPresent(lower)) ? lower : null }
  }

  /** Bytes that it takes. */
  async occupiedBytes({ id, memory }: TemplateRecord): Promise<number> {
    if (memory !== null) return memory.bytes
    const { rootfs, lower } = await this.disk(id)
    return (await occupiedBytes(rootfs)) + (lower === null ? 0 : await occupiedBytes(lower))
  }

  /** @param disk files to which the template gets hard links; `null` for a template with memory */
  async keep(record: TemplateRecord, disk: TemplateDisk | null): Promise<void> {
    const folder = join(this.#folder, record.id)
    // Leftovers of an earlier attempt of the same build.
    await this.#ledger.discard('template', folder, 'its build begins again')
    const of = { kind: 'build', id: record.id } as const
    await this.#ledger.begin(folder, { workspace_id: record.workspace_id, of }, 0o700)
    if (disk !== null) await keepFile(disk.rootfs, join(folder, ROOTFS))
    if (disk !== null && disk.lower !== null) await keepFile(disk.lower, join(folder, LOWER))
    await writeTemplateRecord(folder, record)
    await this.#ledger.finish(folder)
    this.#kept.set(record.id, record)
  }

  /** Deletes a template: no new sandbox can use it. Idempotent. */
  async delete(id: BuildId): Promise<void> {
    await this.#ledger.discard('template', join(this.#folder, id), 'it was deleted')
    this.#kept.delete(id)
    this.#baked.delete(id)
    await syncFolder(this.#folder)
  }

  /** Lets the ledger decide about folders without a record. */
  async settleUnrecorded(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      const id = parseBuildId(name)
      if (id === null || this.#kept.has(id) || this.#ledger.unreadable.has('template', id)) continue
      await this.#ledger.settleUnrecorded('template', id, join(this.#folder, name))
    }
  }
}

/** Syncs a file to disk before the record names it, and hard-links it. */
async function keepFile(from: string, to: string): Promise<void> {
  const file = await open(from, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  await link(from, to)
}

/** For a list: a file that cannot be examined counts as zero bytes. */
async function occupiedBytes(path: string): Promise<number> {
  return stat(path).then(
    ({ blocks }) => blocks * BLOCK_BYTES,
    () => 0,
  )
}
