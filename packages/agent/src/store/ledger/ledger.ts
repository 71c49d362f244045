/**
 * Removal of durable objects: folders and files of sandboxes, snapshots, volumes, templates, builds and layers.
 *
 *     in its place ──discard──► trash/ ──► gone
 *          │  ▲
 *          │  └──restore──┐
 *          └──setAside──► quarantine/ ──purge, or after a week──► trash/ ──► gone
 *
 * Invariants: whoever discards an object gives a reason, which is logged, and the object leaves its place in one rename, so that no
 * start finds half of it. What nobody accounts for is set aside, never discarded. Nothing is removed from quarantine at a start.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { quarantineEntry, type QuarantineEntry } from '@offshoot/contract/agent-quarantine'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import { UnreadableRecords, type RecordKind } from './unreadable-records.ts'
import { isPresent } from './is-present.ts'

/** Milliseconds for which what was set aside is kept. */
const KEEP_MS = 7 * 24 * 3600 * 1000
/** In an object's folder from its beginning until its record is written; it names the owner. */
const BEGUN = 'begun.json'
/** What becomes of the record of an object that was deleted, while its folder is still in use. */
export const DELETED = 'deleted.json'
/** What a folder may hold that was made and never filled. */
const HARMLESS: ReadonlySet<string> = new Set([BEGUN, 'manifest.first.json', 'manifest.json.new'])

export interface Owner {
  readonly workspace_id: string | null
  /** The object on whose behalf it is made, `null` when the workspace itself asked for it. */
  readonly of: { readonly kind: RecordKind; readonly id: string } | null
}

/** The frozen layers that an object without a usable record needs; `null`: not known. */
export type FindLayers = (folder: string) => Promise<readonly string[] | null>

interface Place {
  /** The agent's data directory. */
  readonly root: string
  readonly trash: string
  readonly quarantine: string
}

export class Ledger {
  readonly unreadable: UnreadableRecords
  readonly #place: Place
  readonly #log: Logger
  readonly #findLayers: FindLayers
  readonly #entries = new Map<string, QuarantineEntry>()

  private constructor(place: Place, log: Logger, findLayers: FindLayers) {
    this.#place = place
    this.#log = log
    this.#findLayers = findLayers
    this.unreadable = new UnreadableRecords(log)
  }

  /** Learns what is in quarantine; removes nothing. */
  static async open(place: Place, log: Logger, findLayers: FindLayers): Promise<Ledger> {
    const ledger = new Ledger(place, log, findLayers)
    for (const name of await readdir(place.quarantine)) {
      if (!name.endsWith('.json')) continue
      try {
        const entry = quarantineEntry.parse(JSON.parse(await readFile(join(place.quarantine, name), 'utf8')))
        ledger.#entries.set(entry.entry, entry)
      } catch (error) {
        log.error({ err: error, name }, 'note of a quarantined object cannot be read: the object stays')
      }
    }
    return ledger
  }

  /** What was set aside. */
  get quarantined(): QuarantineEntry[] {
    return [...this.#entries.values()]
  }

  /**
   * Whether everything is known that objects of these kinds refer to: no record of theirs is unreadable, and none of them is in
   * quarantine. Only then may what nobody refers to be removed.
   */
  isComplete(...kinds: readonly RecordKind[]): boolean {
    return this.unreadable.areReadable(...kinds) && !this.quarantined.some(({ kind }) => kinds.some((k) => k === kind))
  }

  /**
   * The layers that objects in quarantine need.
   * @returns `null` while that is not known of one of them, or a record that may name layers cannot be read: then all are needed
   */
  neededLayers(): string[] | null {
    if (!this.unreadable.areReadable('sandbox', 'snapshot')) return null
    const layers = this.quarantined.map((entry) => (hasLayers(entry.kind) ? entry.layers : []))
    return layers.includes(null) ? null : layers.flatMap((each) => each ?? [])
  }

  /** Makes an object's folder, which names its owner until {@link finish}. */
  async begin(folder: string, owner: Owner, mode: number): Promise<void> {
    await mkdir(folder, { mode })
    await writeFile(join(folder, BEGUN), `${JSON.stringify(owner)}\n`, { mode: 0o600 })
  }

  /** After the object's record is durable. The object is, too, when this returns. */
  async finish(folder: string): Promise<void> {
    await syncFolder(dirname(folder))
    await rm(join(folder, BEGUN), { force: true })
  }

  /** Deletes an object whose folder is still in use: from now on it is one that no start knows. Needs no room on the disk. */
  async strike(record: string): Promise<void> {
    await rename(record, join(dirname(record), DELETED)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }

  /**
   * Removes an object that somebody has decided to remove. One that is not there is fine.
   * @param reason for the log
   */
  async discard(kind: RecordKind | 'layer' | 'qemu', path: string, reason: string): Promise<void> {
    const doomed = join(this.#place.trash, randomUUID())
    try {
      await rename(path, doomed)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return
      // Another file system than the data directory's.
      if (code !== 'EXDEV' && code !== 'EBUSY') throw error
      await rm(path, { recursive: true, force: true })
      return
    }
    this.#log.debug({ kind, path: relative(this.#place.root, path), reason }, 'object removed')
    await rm(doomed, { recursive: true, force: true })
  }

  /** At the start of an agent: what its predecessor had discarded and not removed. */
  async emptyTrash(): Promise<void> {
    for (const name of await readdir(this.#place.trash))
      await rm(join(this.#place.trash, name), { recursive: true, force: true })
  }

  /**
   * Decides about a folder that has no record. It is discarded when its making was begun and never finished, when it was struck, or
   * when it holds nothing; any other is set aside.
   */
  async settleUnrecorded(kind: RecordKind, id: string, folder: string): Promise<void> {
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    if (names.includes(DELETED)) await this.discard(kind, folder, 'it was deleted')
    else if (names.includes(BEGUN) || names.every((name) => HARMLESS.has(name)))
      await this.discard(kind, folder, 'its making was never finished')
    else await this.setAside(kind, id, folder, 'it has no record')
  }

  /** Moves what nobody accounts for out of the way, and reports it. */
  async setAside(kind: RecordKind | 'layer' | 'other', id: string, path: string, reason: string): Promise<void> {
    const { root, quarantine } = this.#place
    const layers = hasLayers(kind) ? await this.#findLayers(path) : []
    const entry: QuarantineEntry = {
      entry: randomUUID(),
      state: 'quarantined',
      kind,
      id,
      path: relative(root, path),
      reason,
      layers: layers === null ? null : [...layers],
      since: new Date().toISOString(),
    }
    // The note first: an object without one would have no way back.
    await writeFileDurably(join(quarantine, `${entry.entry}.json`), `${JSON.stringify(entry)}\n`)
    await rename(path, join(quarantine, entry.entry))
    this.#entries.set(entry.entry, entry)
    this.#log.error(entry, 'object that nobody accounts for: moved to quarantine (docs/recovery.md)')
  }

  /** @returns where the object of an entry lies; `null` for an unknown entry */
  find(entry: string): { readonly entry: QuarantineEntry; readonly path: string } | null {
    const found = this.#entries.get(entry)
    return found === undefined ? null : { entry: found, path: join(this.#place.quarantine, entry) }
  }

  /**
   * Moves an object back to where it was.
   * @returns its path there; `null` when something else has that path by now
   */
  async restore({ entry, path }: QuarantineEntry): Promise<string | null> {
    const target = join(this.#place.root, path)
    if (await isPresent(target)) return null
    await mkdir(dirname(target), { recursive: true, mode: 0o711 })
    await rename(join(this.#place.quarantine, entry), target)
    await this.#forget(entry)
    return target
  }

  /** Removes what was set aside, for good. */
  async purge({ entry, kind }: QuarantineEntry, reason: string): Promise<void> {
    const known = kind === 'other' ? 'layer' : kind
    await this.discard(known, join(this.#place.quarantine, entry), reason)
    await this.#forget(entry)
  }

  /** Removes what was set aside long ago. Not at a start: an operator shall have had time to look. */
  async expire(now = Date.now()): Promise<void> {
    for (const entry of this.quarantined)
      if (now - Date.parse(entry.since) > KEEP_MS) await this.purge(entry, 'it was in quarantine for a week')
  }

  async #forget(entry: string): Promise<void> {
    await rm(join(this.#place.quarantine, `${entry}.json`), { force: true })
    this.#entries.delete(entry)
  }
}

function hasLayers(kind: QuarantineEntry['kind']): boolean {
  return kind === 'sandbox' || kind === 'snapshot'
}
