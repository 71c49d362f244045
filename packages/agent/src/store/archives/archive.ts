import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, statfs, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { GAP, isArchiveName, MAX_FILE_BYTES } from './spool.ts'

/** Maximum bytes of one archive on disk. Files that do not fit stay in the guest's spool. */
const MAX_ARCHIVE_BYTES = 16 * 1024 ** 3
/** Free bytes that archives leave on the host's disk. */
const RESERVE_BYTES = 2 * 1024 ** 3
const SUFFIX = '.zst'
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

/** The archive or the host's disk is full. */
export class ArchiveFull extends Error {
  override readonly name = 'ArchiveFull'
}

export interface ArchivedFile {
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly takenAtMs: number
}

/** A file in the order in which it came, since the archive was opened. */
interface Numbered extends ArchivedFile {
  readonly number: number
}

/** Another file of that name is in the archive. */
export class OtherContent extends Error {
  override readonly name = 'OtherContent'
}

export function unpackFile(packed: Buffer): Promise<Buffer> {
  return promisify(zstdDecompress)(packed, { maxOutputLength: MAX_FILE_BYTES })
}

/**
 * The archived files of one guest, as `NAME.zst` in a folder that only the agent writes. A file appears under its name only when
 * it is complete. A name is archived once, and its content never changes.
 */
export class Archive {
  readonly #folder: string
  readonly #files = new Map<string, Numbered>()
  /** Of the numbers of its files, which begin anew when it is opened. */
  readonly #epoch = randomUUID()
  #last = 0

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Opens the archive, and deletes partial files of a killed agent. */
  static async open(folder: string): Promise<Archive> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const archive = new Archive(folder)
    for (const file of await readdir(folder)) {
      const name = file.endsWith(SUFFIX) ? file.slice(0, -SUFFIX.length) : ''
      if (!isArchiveName(name)) await rm(join(folder, file), { force: true })
      else {
        const { size, mtimeMs } = await stat(join(folder, file))
        archive.#note(name, { bytes: size, takenAtMs: mtimeMs })
      }
    }
    return archive
  }

  /** Sorted. */
  get names(): readonly string[] {
    return [...this.#files.keys()].toSorted()
  }

  get bytes(): number {
    return [...this.#files.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** When the last file was archived; `null` if none was. */
  get lastAtMs(): number | null {
    return this.#files.size === 0 ? null : Math.max(...[...this.#files.values()].map(({ takenAtMs }) => takenAtMs))
  }

  /** When the last gap was recorded; `null` if there is none. */
  get gapAtMs(): number | null {
    return this.#files.get(GAP)?.takenAtMs ?? null
  }

  has(name: string): boolean {
    return this.#files.has(name)
  }

  /** Archives a file durably. @throws ArchiveFull */
  async put(name: string, content: Buffer): Promise<void> {
    const packed = await promisify(zstdCompress)(content, LEVEL)
    await this.#write(name, packed)
    this.#note(name, { bytes: packed.length, takenAtMs: Date.now() })
  }

  /**
   * Puts a compressed file of another archive into this one. Repeatable. The caller runs it exclusively.
   * @throws ArchiveFull; OtherContent; an error of zstd if it is none
   */
  async putPacked(name: string, packed: Buffer, takenAtMs: number): Promise<void> {
    await unpackFile(packed)
    const known = await this.readPacked(name)
    if (known !== null && !known.equals(packed)) throw new OtherContent(`the archive has another ${name}`)
    if (known !== null) return
    await this.#write(name, packed)
    const takenAt = new Date(takenAtMs)
    // Prunes go by this time. A file that keeps the time of its arrival instead is only kept for longer.
    await utimes(this.#path(name), takenAt, takenAt)
    this.#note(name, { bytes: packed.length, takenAtMs })
  }

  async #write(name: string, packed: Buffer): Promise<void> {
    const { bavail, bsize } = await statfs(this.#folder)
    if (this.bytes + packed.length > MAX_ARCHIVE_BYTES || bavail * bsize - packed.length < RESERVE_BYTES)
      throw new ArchiveFull(`no room for ${name}`)
    await writeFileDurably(this.#path(name), packed)
  }

  #note(name: string, file: ArchivedFile): void {
    this.#last += 1
    this.#files.set(name, { ...file, number: this.#last })
  }

  /** Up to `limit` files that came after the cursor of an earlier answer; after any other cursor, the first ones. */
  filesAfter(cursor: string, limit: number): { readonly cursor: string; readonly names: readonly string[] } {
    const [epoch, number] = cursor.split('/')
    const after = epoch === this.#epoch ? Number(number) || 0 : 0
    const newer = [...this.#files].filter(([, file]) => file.number > after)
    const listed = newer.toSorted(([, a], [, b]) => a.number - b.number).slice(0, limit)
    const last = listed.at(-1)?.[1].number ?? after
    return { cursor: `${this.#epoch}/${last}`, names: listed.map(([name]) => name) }
  }

  /** Records a gap at the current time. */
  async markGap(): Promise<void> {
    if (!this.has(GAP)) return this.put(GAP, Buffer.alloc(0))
    const now = new Date()
    await utimes(this.#path(GAP), now, now)
    this.#note(GAP, { bytes: 0, takenAtMs: now.getTime() })
  }

  /** What is known of a file; `null` for an unknown name. */
  fileOf(name: string): ArchivedFile | null {
    return this.#files.get(name) ?? null
  }

  /** `null` for an unknown name, and for a file that the disk has lost. */
  async read(name: string): Promise<Buffer | null> {
    const packed = await this.readPacked(name)
    return packed && unpackFile(packed)
  }

  /** The compressed file, as {@link unpackFile} takes it. `null` as for {@link read}. */
  async readPacked(name: string): Promise<Buffer | null> {
    if (!this.has(name)) return null
    return readFile(this.#path(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
  }

  /** Deletes the files that were archived before a time. */
  async prune(beforeMs: number): Promise<void> {
    for (const [name, { takenAtMs }] of this.#files) {
      // A timeline's history is small, and recovery needs it as long as any of its segments exists.
      if (takenAtMs >= beforeMs || name.endsWith('.history')) continue
      await rm(this.#path(name), { force: true })
      this.#files.delete(name)
    }
    await syncFolder(this.#folder)
  }

  #path(name: string): string {
    return join(this.#folder, name + SUFFIX)
  }
}
