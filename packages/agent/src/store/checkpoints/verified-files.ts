import type { BigIntStats } from 'node:fs'
import { link, open, rm, stat } from 'node:fs/promises'
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
  readonly seen: Seen
  readonly isDurable: boolean
  readonly seal: Promise<FileSeal>
}

/** Sizes and hashes of files. Each file is read once per agent process, unless something other than this class has changed it. */
export class VerifiedFiles {
  readonly #sealFile: SealOnThread
  readonly #known = new Map<string, { readonly seen: Seen; readonly seal: FileSeal }>()
  /** By file: shared by concurrent callers, and completed even after all of them have left. */
  readonly #hashing = new Map<string, Hashing>()

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

  /** Keeps the hash, because only this class has changed the file. */
  async #changeNames(path: string, change: () => Promise<void>): Promise<void> {
    const file = await open(path)
    try {
      const before = seenOf(await file.stat({ bigint: true }))
      await change()
      const after = seenOf(await file.stat({ bigint: true }))
      const known = this.#known.get(before.file)
      if (known === undefined || !isSame(known.seen, before) || !isSame({ ...after, ctimeNs: before.ctimeNs }, before))
        return
      this.#remember(after, known.seal)
    } finally {
      await file.close()
    }
  }

  async #seal(path: string, isDurable: boolean, deadline: Deadline): Promise<FileSeal> {
    const seen = await look(path)
    const known = this.#known.get(seen.file)
    if (known && isSame(known.seen, seen)) return known.seal
    deadline.throwIfOver()
    return deadline.race(this.#hash(path, seen, isDurable))
  }

  /** The hash continues after a caller's deadline: the next caller gets the result. */
  #hash(path: string, seen: Seen, isDurable: boolean): Promise<FileSeal> {
    const running = this.#hashing.get(seen.file)
    if (running && isSame(running.seen, seen) && (running.isDurable || !isDurable)) return running.seal
    const hashing: Hashing = { seen, isDurable, seal: this.#read(path, seen, isDurable) }
    this.#hashing.set(seen.file, hashing)
    const forget = () => {
      if (this.#hashing.get(seen.file) === hashing) this.#hashing.delete(seen.file)
    }
    hashing.seal.then(forget, forget)
    return hashing.seal
  }

  async #read(path: string, seen: Seen, isDurable: boolean): Promise<FileSeal> {
    const seal = await this.#sealFile({ path, isDurable }, Deadline.after(HASH_MS, `hash of ${path}`))
    // The file was changed while it was read, so the hash is wrong and must not be remembered.
    if (isSame(seen, await look(path))) this.#remember(seen, seal)
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
