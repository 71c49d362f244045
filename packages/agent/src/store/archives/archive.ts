import { mkdir, readdir, readFile, rm, stat, statfs, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { GAP, isArchiveName, MAX_FILE_BYTES } from './spool.ts'

/** Bytes on the host's disk of one archive. What does not fit stays with its guest. */
const MAX_ARCHIVE_BYTES = 16 * 1024 ** 3
/** Bytes of the host's disk that archives never take. */
const RESERVE_BYTES = 2 * 1024 ** 3
const SUFFIX = '.zst'
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }

/** There is no room for more. */
export class ArchiveFull extends Error {
  override readonly name = 'ArchiveFull'
}

export interface ArchivedFile {
  readonly bytes: number
  /** Milliseconds since 1970. */
  readonly takenAtMs: number
}

/**
 * What was taken from one guest, in a folder that only the agent writes: `NAME.zst`, each whole from the moment it has that name.
 * A name is taken once and keeps its content.
 */
export class Archive {
  readonly #folder: string
  readonly #files: Map<string, ArchivedFile>

  private constructor(folder: string, files: Map<string, ArchivedFile>) {
    this.#folder = folder
    this.#files = files
  }

  /** Removes what an agent that was killed had begun to write. */
  static async open(folder: string): Promise<Archive> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const files = new Map<string, ArchivedFile>()
    for (const file of await readdir(folder)) {
      const name = file.endsWith(SUFFIX) ? file.slice(0, -SUFFIX.length) : ''
      if (!isArchiveName(name)) await rm(join(folder, file), { force: true })
      else {
        const { size, mtimeMs } = await stat(join(folder, file))
        files.set(name, { bytes: size, takenAtMs: mtimeMs })
      }
    }
    return new Archive(folder, files)
  }

  /** In order. */
  get names(): readonly string[] {
    return [...this.#files.keys()].toSorted()
  }

  get bytes(): number {
    return [...this.#files.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** When the last file was taken, and the last of which something is missing; `null`: never. */
  get lastAtMs(): number | null {
    return this.#files.size === 0 ? null : Math.max(...[...this.#files.values()].map(({ takenAtMs }) => takenAtMs))
  }

  get gapAtMs(): number | null {
    return this.#files.get(GAP)?.takenAtMs ?? null
  }

  has(name: string): boolean {
    return this.#files.has(name)
  }

  /** On the disk when this returns. @throws ArchiveFull */
  async put(name: string, content: Buffer): Promise<void> {
    const packed = await promisify(zstdCompress)(content, LEVEL)
    const { bavail, bsize } = await statfs(this.#folder)
    if (this.bytes + packed.length > MAX_ARCHIVE_BYTES || bavail * bsize - packed.length < RESERVE_BYTES)
      throw new ArchiveFull(`no room for ${name}`)
    await writeFileDurably(this.#path(name), packed)
    this.#files.set(name, { bytes: packed.length, takenAtMs: Date.now() })
  }

  /** The gap is one of now. */
  async markGap(): Promise<void> {
    if (!this.has(GAP)) return this.put(GAP, Buffer.alloc(0))
    const now = new Date()
    await utimes(this.#path(GAP), now, now)
    this.#files.set(GAP, { bytes: 0, takenAtMs: now.getTime() })
  }

  /** `null` for what is not there. */
  async read(name: string): Promise<Buffer | null> {
    if (!this.has(name)) return null
    return promisify(zstdDecompress)(await readFile(this.#path(name)), { maxOutputLength: MAX_FILE_BYTES })
  }

  /** Removes what was taken before that moment. */
  async prune(beforeMs: number): Promise<void> {
    for (const [name, { takenAtMs }] of this.#files) {
      // The history of a timeline is short, and wanted as long as anything of it is there.
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
