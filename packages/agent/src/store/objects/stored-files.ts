import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'

const UPLOADING = '.uploading'
const DROPPED = '.dropped'
/** In the folder of an owner whose objects are all to be deleted: the reason. */
const OVER = 'over'

/**
 * Records on the host which archived files an object store has, as files in one folder per owner:
 *
 *     NAME.uploading ──uploaded──► NAME ──no longer needed──► NAME.dropped ──object deleted──► (gone)
 *
 * The record exists before its object, so that each object that may exist has a record. An object is deleted only if the
 * record says so: a missing archive or an unknown owner deletes nothing.
 */
export class StoredFiles {
  readonly #root: string

  constructor(root: string) {
    this.#root = root
  }

  async owners(): Promise<string[]> {
    return namesIn(this.#root)
  }

  /** Names of the files that are stored. */
  async stored(owner: string): Promise<Set<string>> {
    const names = await namesIn(join(this.#root, owner))
    return new Set(names.filter((name) => !name.includes(UPLOADING) && !name.includes(DROPPED) && name !== OVER))
  }

  async begin(owner: string, name: string): Promise<void> {
    const first = await mkdir(join(this.#root, owner), { recursive: true, mode: 0o700 })
    if (first !== undefined) await syncFolder(this.#root)
    await writeFile(this.#path(owner, name + UPLOADING), '', { mode: 0o600 })
    await syncFolder(join(this.#root, owner))
  }

  async finish(owner: string, name: string): Promise<void> {
    await rename(this.#path(owner, name + UPLOADING), this.#path(owner, name))
    await syncFolder(join(this.#root, owner))
  }

  /** Records that the objects of files are no longer needed that `isNeeded` does not name, by when they were stored. */
  async drop(owner: string, isNeeded: (name: string, storedAtMs: number) => boolean): Promise<void> {
    const names = await namesIn(join(this.#root, owner))
    for (const name of names) {
      if (name === OVER || name.endsWith(DROPPED)) continue
      const plain = name.endsWith(UPLOADING) ? name.slice(0, -UPLOADING.length) : name
      const path = this.#path(owner, name)
      if (!isNeeded(plain, (await stat(path)).mtimeMs)) await rename(path, this.#path(owner, plain + DROPPED))
    }
    if (names.length > 0) await syncFolder(join(this.#root, owner))
  }

  /** Records that an owner is deleted, with all its objects. */
  async end(owner: string, reason: string): Promise<void> {
    const folder = join(this.#root, owner)
    if ((await namesIn(folder)).length > 0) await writeFileDurably(join(folder, OVER), `${reason}\n`)
  }

  async isOver(owner: string): Promise<boolean> {
    return (await namesIn(join(this.#root, owner))).includes(OVER)
  }

  /** Names of the files whose objects are to be deleted. */
  async dropped(owner: string): Promise<string[]> {
    const names = await namesIn(join(this.#root, owner))
    const chosen = names.includes(OVER) ? names.filter((name) => name !== OVER) : names.filter(isDropped)
    return [...new Set(chosen.map((name) => name.replace(UPLOADING, '').replace(DROPPED, '')))]
  }

  /** Forgets a file whose object is deleted. */
  async forget(owner: string, name: string): Promise<void> {
    for (const suffix of ['', UPLOADING, DROPPED]) {
      const path = this.#path(owner, name + suffix)
      if (suffix === DROPPED || (await this.isOver(owner))) await rm(path, { force: true })
    }
  }

  /** Forgets a deleted owner that has no objects any more. */
  async close(owner: string): Promise<void> {
    const folder = join(this.#root, owner)
    if ((await namesIn(folder)).join() === OVER) await rm(folder, { recursive: true })
  }

  #path(owner: string, name: string): string {
    return join(this.#root, owner, name)
  }
}

function isDropped(name: string): boolean {
  return name.endsWith(DROPPED)
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  // A killed agent may have left a part of the record of a deletion.
  return names.filter((name) => !name.endsWith('.new'))
}
