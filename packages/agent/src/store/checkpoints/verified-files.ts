import type { BigIntStats } from 'node:fs'
import { link, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { type FileSeal, isSameSeal } from './checkpoint.ts'
import type { SealFile } from './seal-file.ts'

/** Maximum remembered files; beyond it, the oldest are hashed again. */
const MAX_FILES = 65_536
/** Milliseconds for one hash, independent of its callers: enough for terabytes. */
const HASH_MS = 3_600_000

interface Seen {
  /** Identifies the file under all its names. */
  readonly file: string
  readonly size: bigint
  /** Size and time of its content. */
  readonly mtimeNs: bigint
  /** Changes with every change of the file, including its links. */
  readonly ctimeNs: bigint
}

export interface AskedSeal extends SealFile {
  /** `true`: waits until the file is on the disk. */
  readonly isDurable: boolean
}

/** Runs `sealFile` beside the event loop. @throws as `sealFile`; DeadlineExceeded */
export type SealOnThread = (asked: AskedSeal, deadline: Deadline) => Promise<FileSeal>

/** A hash in progress. */
interface Hashing {
  /** The name by which the file is read. */
  readonly path: string
  /** As the file is if only this class has changed it since the hash began. */
  seen: Seen
  readonly isDurable: boolean
  readonly seal: Promise<FileSeal>
}

/**
 * Sizes and hashes of files. Each file is read once per agent process, unless something other than this class has changed it. Whoever
 * adds or removes a name of such a file does it here, also while the file is hashed.
 */
export class VerifiedFiles {
  readonly #sealFile: SealOnThread
  readonly #known = new Map<string, { readonly seen: Seen; readonly seal: FileSeal }>()
  /** By file: shared by concurrent callers, and completed even after all of them have left. */
  readonly #hashing = new Map<string, Hashing>()
  /** By file: the end of the last change of its names. One at a time, so that each knows what it has changed. */
  readonly #turns = new Map<string, Promise<void>>()

  constructor(sealFile: SealOnThread) {
    this.#sealFile = sealFile
  }

  /** Returns the seal of a new file, and syncs the file to disk. */
  async seal(path: string, deadline: Deadline): Promise<FileSeal> {
    return this.#seal(path, true, deadline)
  }

  /** @returns whether the file matches its seal; `false` if it is missing */
  async isUnchanged(path: string, seal: FileSeal, deadline: Deadline): Promise<boolean> {
    try {
      return isSameSeal(await this.#seal(path, false, deadline), seal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    }
  }

  /** Adds a hard link to a file, which never changes. */
  async link(from: string, to: string): Promise<void> {
    await this.#changeNames(from, () => link(from, to))
  }

  /** Removes a link of a file, if it exists. */
  async unlink(path: string): Promise<void> {
    await this.#changeNames(path, () => rm(path, { force: true })).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    })
  }

  /** As `removeTree` of `folders.ts`, and keeps the hashes of files that have other names. */
  async removeTree(path: string): Promise<void> {
    // What fails here is tried again, and then reported, by rm().
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) if (entry.isFile()) await this.unlink(join(path, entry.name)).catch(() => undefined)
    await rm(path, { recursive: true, force: true })
  }

  /** Keeps the hash, because only this class has changed the file. */
  async #changeNames(path: string, change: () => Promise<void>): Promise<void> {
    const file = await open(path)
    try {
      const look = async () => seenOf(await file.stat({ bigint: true }))
      await this.#inTurn((await look()).file, async () => {
        const before = await look()
        await change()
        this.#follow(before, await look())
      })
    } finally {
      await file.close()
    }
  }

  #follow(before: Seen, after: Seen): void {
    if (!isSame({ ...after, ctimeNs: before.ctimeNs }, before)) return
    const known = this.#known.get(before.file)
    if (known !== undefined && isSame(known.seen, before)) this.#remember(after, known.seal)
    const hashing = this.#hashing.get(before.file)
    if (hashing !== undefined && isSame(hashing.seen, before)) hashing.seen = after
  }

  async #inTurn(file: string, work: () => Promise<void>): Promise<void> {
    const mine = (this.#turns.get(file) ?? Promise.resolve()).then(work)
    const ended = mine.catch(() => undefined)
    this.#turns.set(file, ended)
    try {
      await mine
    } finally {
      if (this.#turns.get(file) === ended) this.#turns.delete(file)
    }
  }

  async #seal(path: string, isDurable: boolean, deadline: Deadline): Promise<FileSeal> {
    const seen = await look(path)
    const known = this.#known.get(seen.file)
    if (known && isSame(known.seen, seen)) return known.seal
    deadline.throwIfOver()
    const hashing = this.#hash(path, seen, isDurable)
    try {
      return await deadline.race(hashing.seal)
    } catch (error) {
      const isOtherGone = hashing.path !== path && (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (!isOtherGone) throw error
      return this.#seal(path, isDurable, deadline)
    }
  }

  /** The hash continues after a caller's deadline: the next caller gets the result. */
  #hash(path: string, seen: Seen, isDurable: boolean): Hashing {
    const running = this.#hashing.get(seen.file)
    if (running && isSame(running.seen, seen) && (running.isDurable || !isDurable)) return running
    const { promise: seal, resolve, reject } = Promise.withResolvers<FileSeal>()
    const hashing: Hashing = { path, seen, isDurable, seal }
    this.#hashing.set(seen.file, hashing)
    const forget = () => {
      if (this.#hashing.get(seen.file) === hashing) this.#hashing.delete(seen.file)
    }
    seal.then(forget, forget)
    this.#read(hashing).then(resolve, reject)
    return hashing
  }

  async #read(hashing: Hashing): Promise<FileSeal> {
    const { path, isDurable } = hashing
    const seal = await this.#sealFile({ path, isDurable }, Deadline.after(HASH_MS, `hash of ${path}`))
    // Otherwise the file was changed while it was read, so the hash is wrong and must not be remembered.
    await this.#inTurn(hashing.seen.file, async () => {
      if (isSame(hashing.seen, await look(path))) this.#remember(hashing.seen, seal)
    })
    return seal
  }

  #remember(seen: Seen, seal: FileSeal): void {
    this.#known.delete(seen.file)
    this.#known.set(seen.file, { seen, seal })
    const oldest = this.#known.keys().next()
    if (this.#known.size > MAX_FILES && !oldest.done) this.#known.delete(oldest.value)
  }
}

async function look(path: string): Promise<Seen> {
  return seenOf(await stat(path, { bigint: true }))
}

function seenOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): Seen {
  return { file: `${dev}:${ino}`, size, mtimeNs, ctimeNs }
}

function isSame(a: Seen, b: Seen): boolean {
  return a.file === b.file && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs
}
