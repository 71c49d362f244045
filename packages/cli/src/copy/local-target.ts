import { randomBytes } from 'node:crypto'
import { type FileHandle, link, lstat, mkdir, open, rename, rm, symlink, utimes, chmod } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { Failure } from '../frame/failure.ts'
import { printable } from '../frame/output.ts'
import type { Tally } from './tally.ts'

/** What a file or folder is like, apart from its content. */
export interface About {
  /** Permission bits. */
  readonly mode: number
  /** Bytes. */
  readonly size: number
  /** Seconds. */
  readonly mtime: number
}

/**
 * A folder on this machine that takes what a sandbox sends. The sandbox is hostile, and nothing may be written outside of
 * the folder:
 *
 * - A name with `..` ends the copy. Absolute names count from the folder.
 * - Every folder on the way to a name is a real folder, checked before something is written into it. Symbolic links are
 *   made at the end, so no file is written through one that came with the copy; one from an earlier copy ends this copy.
 * - A file is written under a random name and renamed, which replaces a link instead of following it.
 * - A link that leads out of the folder is left out, because a later program would follow it.
 * - Setuid bits are dropped, and devices are never made.
 */
export class LocalTarget {
  readonly #root: string
  readonly #tally: Tally
  /** Folders that are known to be real, and how they are to be in the end; `null`: as they were before. */
  readonly #folders = new Map<string, About | null>()
  readonly #links = new Map<string, string>()
  readonly #files = new Set<string>()
  /** The entry that came last, as a path below the root. */
  last = ''

  /** @param root made when missing; may be a link, because the user chose it */
  constructor(root: string, tally: Tally) {
    this.#root = root
    this.#tally = tally
  }

  /** Whether the entry is complete. Of folders: whether they exist. */
  has(parts: readonly string[]): boolean {
    const key = parts.join('/')
    return this.#files.has(key) || this.#folders.has(key) || this.#links.has(key)
  }

  async addFolder(parts: readonly string[], about: About): Promise<void> {
    this.last = parts.join('/')
    const wasThere = await this.#enter(parts)
    if (!wasThere) this.#folders.set(this.last, about)
  }

  /** A link, which is made at the end. */
  addLink(parts: readonly string[], target: string): void {
    this.last = parts.join('/')
    if (leadsOut(parts, target)) this.#tally.leaveOut(this.last, `leads out of the copy, to ${printable(target)}`)
    else this.#links.set(this.last, target)
  }

  /** A hard link to a file of this copy. */
  async addHardLink(parts: readonly string[], to: readonly string[]): Promise<void> {
    this.last = parts.join('/')
    if (!this.#files.has(to.join('/'))) throw refused(this.last, 'is a link to a file that is not in the copy')
    await this.#enter(parts.slice(0, -1))
    await rm(this.#path(parts), { force: true })
    await link(this.#path(to), this.#path(parts))
    this.#files.add(this.last)
  }

  /** Begins a file. Nothing has its name before it is finished. */
  async begin(parts: readonly string[]): Promise<PartFile> {
    this.last = parts.join('/')
    await this.#enter(parts.slice(0, -1))
    const path = join(this.#path(parts.slice(0, -1)), `.offshoot-${randomBytes(8).toString('hex')}`)
    const file = await open(path, 'wx', 0o600)
    return new PartFile(file, path, this.#path(parts), () => {
      this.#files.add(parts.join('/'))
      this.#tally.files++
    })
  }

  /** Makes the links, and gives the folders their modes and times, the innermost first. */
  async finish(): Promise<void> {
    for (const [key, target] of this.#links) {
      const parts = key.split('/')
      await this.#enter(parts.slice(0, -1))
      await rm(this.#path(parts), { force: true })
      await symlink(target, this.#path(parts))
      this.#tally.files++
    }
    for (const [key, about] of [...this.#folders].toReversed()) {
      if (about === null) continue
      const path = this.#path(key.split('/'))
      await utimes(path, about.mtime, about.mtime)
      await chmod(path, about.mode & 0o777)
    }
  }

  #path(parts: readonly string[]): string {
    return join(this.#root, ...parts)
  }

  /** Makes sure that a folder and those above it exist and are real. @returns whether it existed before this copy */
  async #enter(parts: readonly string[]): Promise<boolean> {
    if (this.#folders.size === 0) await mkdir(this.#root, { recursive: true })
    let wasThere = true
    for (let depth = 1; depth <= parts.length; depth++) {
      const key = parts.slice(0, depth).join('/')
      wasThere = this.#folders.get(key) === null
      if (this.#folders.has(key)) continue
      const path = this.#path(parts.slice(0, depth))
      wasThere = await mkdir(path, { mode: 0o700 }).then(
        () => false,
        async (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
          if (!(await lstat(path)).isDirectory())
            throw refused(key, 'is no folder here, and nothing is written through it')
          return true
        },
      )
      this.#folders.set(key, wasThere ? null : { mode: 0o755, size: 0, mtime: Date.now() / 1000 })
    }
    return wasThere
  }
}

/** A file under its temporary name. */
export class PartFile {
  bytes = 0
  readonly #file: FileHandle
  readonly #path: string
  readonly #final: string
  readonly #onFinish: () => void

  constructor(file: FileHandle, path: string, final: string, onFinish: () => void) {
    this.#file = file
    this.#path = path
    this.#final = final
    this.#onFinish = onFinish
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let from = 0; from < chunk.length;) {
      const { bytesWritten } = await this.#file.write(chunk, from, chunk.length - from, this.bytes)
      from += bytesWritten
      this.bytes += bytesWritten
    }
  }

  /** Begins again. */
  async clear(): Promise<void> {
    await this.#file.truncate(0)
    this.bytes = 0
  }

  async finish({ mode, mtime }: About): Promise<void> {
    await this.#file.utimes(mtime, mtime)
    await this.#file.chmod(mode & 0o777)
    await this.#file.close()
    await rename(this.#path, this.#final)
    this.#onFinish()
  }

  async discard(): Promise<void> {
    await this.#file.close()
    await rm(this.#path, { force: true })
  }
}

/** The segments of a name from a sandbox. Throws a `Failure` for a name that leads out of the folder. */
export function safeParts(name: string): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.some((part) => part === '..' || part.includes('\0') || part.includes(sep)))
    throw refused(name, 'leads out of the folder')
  return parts
}

/**
 * Whether a link may lead out of the folder in which it is `parts.length - 1` folders deep. After its leading `..` it must
 * only descend: a link on its way could itself lead up.
 */
function leadsOut(parts: readonly string[], target: string): boolean {
  if (target.startsWith('/') || target.includes('\0') || (sep !== '/' && target.includes(sep))) return true
  const steps = target.split('/').filter((step) => step !== '' && step !== '.')
  const down = steps.findIndex((step) => step !== '..')
  const ups = down < 0 ? steps.length : down
  return ups > parts.length - 1 || steps.slice(ups).includes('..')
}

function refused(name: string, reason: string): Failure {
  return new Failure(`the sandbox sent "${printable(name)}", which ${reason}`, {
    next: 'look at the folder in the sandbox before you trust it; what was copied before stays',
  })
}
