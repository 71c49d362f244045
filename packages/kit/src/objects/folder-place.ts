import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../sync-folder.ts'
import { writeFileDurably } from '../write-file-durably.ts'
import type { ObjectPlace } from './object-place.ts'

/** Objects in a folder, which the operator has created: a missing one is a file system that is not mounted. */
export class FolderPlace implements ObjectPlace {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async put(name: string, content: Uint8Array): Promise<void> {
    await stat(this.#folder)
    const path = join(this.#folder, name)
    const first = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    if (first !== undefined) await syncFolder(dirname(first))
    await writeFileDurably(path, content)
  }

  async get(name: string): Promise<Buffer | null> {
    await stat(this.#folder)
    return readFile(join(this.#folder, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
  }

  async remove(name: string): Promise<void> {
    await stat(this.#folder)
    await rm(join(this.#folder, name), { force: true })
  }
}
