import { constants } from 'node:fs'
import { lstat, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { DiskChain } from './disk-chain.ts'
import { fileOfLayer, layerOfFile, type LayerId } from './layer-id.ts'

/** A VM's folder has no such layer, or something that is no layer in its place. */
export class LayerMissing extends Error {
  override readonly name = 'LayerMissing'
}

/**
 * The frozen layers of all disks: root's files, read-only, never written again. QEMU gets descriptors of them.
 *
 * A layer is needed as long as a VM's chain or a checkpoint names it. Nobody counts: {@link removeAllBut} asks.
 */
export class Layers {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  path(id: LayerId): string {
    return join(this.#folder, fileOfLayer(id))
  }

  /**
   * Takes every frozen layer of a VM's chain that still lies in its folder. Done after each freeze, and when a VM is
   * adopted: the agent before us may have been killed between the freeze and this.
   *
   * @throws LayerMissing
   */
  async adopt(vmFolder: string, { layers }: DiskChain): Promise<void> {
    for (const id of layers) {
      if (!(await this.#has(id))) await this.#take(join(vmFolder, fileOfLayer(id)), id)
    }
  }

  /**
   * Removes every layer that is not among `keep()`, which is called after the folder has been listed: a layer that is
   * adopted meanwhile is not in the list. Who ends a VM must name its layers by a checkpoint before it lets go of it.
   *
   * @returns how many were removed
   */
  async removeAllBut(keep: () => Iterable<LayerId>): Promise<number> {
    const names = await readdir(this.#folder)
    const kept = new Set<LayerId>(keep())
    const unused = names.filter((name) => {
      const id = layerOfFile(name)
      return id === null || !kept.has(id)
    })
    for (const name of unused) await rm(join(this.#folder, name), { force: true })
    return unused.length
  }

  /** What was adopted so far stays where it is, even when the host loses power. */
  async sync(): Promise<void> {
    const folder = await open(this.#folder, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }

  async #has(id: LayerId): Promise<boolean> {
    return lstat(this.path(id)).then(
      () => true,
      () => false,
    )
  }

  /**
   * The VM's user owns the folder it comes from, so the file is judged by a descriptor: what is renamed in the end must
   * be the very file that was judged and given to root.
   */
  async #take(from: string, id: LayerId): Promise<void> {
    const file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
      (error: unknown) => {
        throw new LayerMissing(`layer ${id} cannot be opened`, { cause: error })
      },
    )
    try {
      const judged = await file.stat({ bigint: true })
      if (!judged.isFile() || judged.nlink !== 1n) throw new LayerMissing(`layer ${id} is no file of its own`)
      await file.chmod(0o400)
      if (process.getuid?.() === 0) await file.chown(0, 0)
      await rename(from, this.path(id))
      const { ino, dev, isFile } = await lstat(this.path(id), { bigint: true }).then((stats) => ({
        ino: stats.ino,
        dev: stats.dev,
        isFile: stats.isFile(),
      }))
      if (isFile && ino === judged.ino && dev === judged.dev) return
      await unlink(this.path(id))
      throw new LayerMissing(`layer ${id} was exchanged`)
    } finally {
      await file.close()
    }
  }
}
