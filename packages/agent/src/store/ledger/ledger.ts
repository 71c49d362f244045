/**
 * Removes durable objects: folders and files of sandboxes, snapshots, volumes, templates, builds and layers.
 *
 *     in its place ──discard──► trash/ ──► deleted
 *          │  ▲
 *          │  └──restore──┐
 *          └──setAside──► quarantine/ ──purge, or after a week──► trash/ ──► deleted
 *
 * Invariants: a caller that discards an object gives a reason, which is logged. The object leaves its place in one rename,
 * so that no start finds half of it. An orphan, which no record accounts for, is set aside and never discarded. A start
 * deletes nothing from quarantine.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { quarantineEntry, type QuarantineEntry } from '@offshoot/contract/agent-quarantine'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import type { Logger } from 'pino'
import { removeTree } from '../data-dir/folders.ts'
import { UnreadableRecords, type RecordKind } from './unreadable-records.ts'
import { isPresent } from './is-present.ts'

/** Milliseconds for which quarantine keeps an object. */
const KEEP_MS = 7 * 24 * 3600 * 1000
/** A file in an object's folder from its creation until its record is written. It names the owner. */
const BEGUN = 'begun.json'
/** The name of a deleted object's record while its folder is still in use. */
export const DELETED = 'deleted.json'
/** The name of a sandbox's record when another host has it: nothing of it was deleted for its users. */
export const MOVED = 'moved.json'
/** The name of a sandbox's record when another host has brought it back without the last state of this one. */
export const TAKEN = 'taken.json'
export const TAKEN_OVER = 'another host has brought it back'
/** The files that an unused new folder may contain. */
const HARMLESS: ReadonlySet<string> = new Set([BEGUN, 'manifest.first.json', 'manifest.json.new'])

export interface Owner {
  readonly workspace_id: string | null
  /** The object for which it is made; `null` if the workspace itself requested it. */
  readonly of: { readonly kind: RecordKind; readonly id: string } | null
}

/** The frozen layers that an object without a readable record needs; `null`: unknown. */
export type FindLayers = (folder: string) => Promise<readonly string[] | null>

interface Options {
  readonly findLayers: FindLayers
  /** By default, a removal that makes `VerifiedFiles` forget the hashes of files with other names. */
  readonly removeTree?: typeof removeTree
}

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
  readonly #removeTree: typeof removeTree
  readonly #entries = new Map<string, QuarantineEntry>()

  private constructor(place: Place, log: Logger, options: Options) {
    this.#place = place
    this.#log = log
    this.#findLayers = options.findLayers
    this.#removeTree = options.removeTree ?? removeTree
    this.unreadable = new UnreadableRecords(log)
  }

  /** Reads the entries of quarantine. Deletes nothing. */
  static async open(place: Place, log: Logger, options: Options): Promise<Ledger> {
    const ledger = new Ledger(place, log, options)
    for (const name of await readdir(place.quarantine)) {
      if (!name.endsWith('.json')) continue
      try {
        const entry = quarantineEntry.parse(JSON.parse(await readFile(join(place.quarantine, name), 'utf8')))
        ledger.#entries.set(entry.entry, entry)
      } catch (error) {
        log.error({ err: error, name }, 'record of a quarantined object cannot be read: the object stays')
      }
    }
    return ledger
  }

  /** The objects in quarantine. */
  get quarantined(): QuarantineEntry[] {
    return [...this.#entries.values()]
  }

  /**
   * Whether all references of objects of these kinds are known: every record is readable, and none of the objects is in
   * quarantine. Only then may unreferenced objects be deleted.
   */
  isComplete(...kinds: readonly RecordKind[]): boolean {
    return this.unreadable.areReadable(...kinds) && !this.quarantined.some(({ kind }) => kinds.some((k) => k === kind))
  }

  /**
   * The layers that objects in quarantine need.
   * @returns `null` if they are unknown for one object, or a record that may name layers is unreadable: all layers are
   *   needed then
   */
  neededLayers(): string[] | null {
    if (!this.unreadable.areReadable('sandbox', 'snapshot')) return null
    const layers = this.quarantined.map((entry) => (hasLayers(entry.kind) ? entry.layers : []))
    return layers.includes(null) ? null : layers.flatMap((each) => each ?? [])
  }

  /** Creates an object's folder, which names its owner until {@link finish}. */
  async begin(folder: string, owner: Owner, mode: number): Promise<void> {
    await mkdir(folder, { mode })
    await writeFile(join(folder, BEGUN), `${JSON.stringify(owner)}\n`, { mode: 0o600 })
  }

  /** Call this after the object's record is durable. Then the object is durable as well. */
  async finish(folder: string): Promise<void> {
    await syncFolder(dirname(folder))
    await rm(join(folder, BEGUN), { force: true })
  }

  /** Marks an object as deleted while its folder is still in use: no later start knows it. Needs no free disk space. */
  async strike(record: string, as: typeof DELETED | typeof MOVED | typeof TAKEN = DELETED): Promise<void> {
    await rename(record, join(dirname(record), as)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }

  /** Deletes an object. No effect if it does not exist. @param reason the reason for the log */
  async discard(kind: RecordKind | 'layer' | 'qemu', path: string, reason: string): Promise<void> {
    const doomed = await this.#moveToTrash(kind, path, reason)
    if (doomed !== null) await this.#removeTree(doomed)
  }

  /** The same, but without waiting for the end of its files. They are gone after the next start at the latest. */
  async discardInBackground(kind: RecordKind, path: string, reason: string): Promise<void> {
    const doomed = await this.#moveToTrash(kind, path, reason)
    if (doomed === null) return
    this.#removeTree(doomed).catch((error: unknown) =>
      this.#log.error({ err: error, path: doomed }, 'removed object stays in the trash until the next start'),
    )
  }

  /** @returns its path there; `null` if there is nothing left to delete */
  async #moveToTrash(kind: string, path: string, reason: string): Promise<string | null> {
    const doomed = join(this.#place.trash, randomUUID())
    try {
      await rename(path, doomed)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return null
      // The path is on another file system than the data directory.
      if (code !== 'EXDEV' && code !== 'EBUSY') throw error
      await rm(path, { recursive: true, force: true })
      return null
    }
    this.#log.debug({ kind, path: relative(this.#place.root, path), reason }, 'object removed')
    return doomed
  }

  /** At the start of an agent: deletes the objects that an earlier agent has discarded but not deleted yet. */
  async emptyTrash(): Promise<void> {
    for (const name of await readdir(this.#place.trash))
      await rm(join(this.#place.trash, name), { recursive: true, force: true })
  }

  /**
   * Decides about a folder without a record. Discards it if its creation never finished, if it was marked as deleted, or if
   * it is empty. Sets aside any other.
   */
  async settleUnrecorded(kind: RecordKind, id: string, folder: string): Promise<void> {
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    if (names.includes(DELETED)) await this.discard(kind, folder, 'it was deleted')
    else if (names.includes(MOVED)) await this.discard(kind, folder, 'it was moved')
    else if (names.includes(BEGUN) || names.every((name) => HARMLESS.has(name)))
      await this.discard(kind, folder, 'its creation never finished')
    else await this.setAside(kind, id, folder, names.includes(TAKEN) ? TAKEN_OVER : 'it has no record')
  }

  /** Moves an orphan to quarantine, and reports it. */
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
    // The record first: without one, an object could not be restored.
    await writeFileDurably(join(quarantine, `${entry.entry}.json`), `${JSON.stringify(entry)}\n`)
    await rename(path, join(quarantine, entry.entry))
    this.#entries.set(entry.entry, entry)
    this.#log.error(entry, 'orphaned object moved to quarantine (docs/recovery.md)')
  }

  /** @returns the path of the object of an entry; `null` for an unknown entry */
  find(entry: string): { readonly entry: QuarantineEntry; readonly path: string } | null {
    const found = this.#entries.get(entry)
    return found === undefined ? null : { entry: found, path: join(this.#place.quarantine, entry) }
  }

  /** Moves an object back to its place. @returns its path; `null` if another object has that path by now */
  async restore({ entry, path }: QuarantineEntry): Promise<string | null> {
    const target = join(this.#place.root, path)
    if (await isPresent(target)) return null
    await mkdir(dirname(target), { recursive: true, mode: 0o711 })
    await rename(join(this.#place.quarantine, entry), target)
    await this.#forget(entry)
    return target
  }

  /** Deletes an object in quarantine. */
  async purge({ entry, kind }: QuarantineEntry, reason: string): Promise<void> {
    const known = kind === 'other' ? 'layer' : kind
    await this.discard(known, join(this.#place.quarantine, entry), reason)
    await this.#forget(entry)
  }

  /**
   * Deletes the objects that have been in quarantine for long. Must not run at a start: an operator needs time to look at
   * them.
   */
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
