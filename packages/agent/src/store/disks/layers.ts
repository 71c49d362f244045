import { constants } from 'node:fs'
import { lstat, open, readdir, rename, rm, statfs, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '@offshoot/kit/sync-folder'
import type { Logger } from 'pino'
import type { DataDir } from '../data-dir/data-dir.ts'
import type { DiskChain } from './disk-chain.ts'
import { fileOfLayer, layerOfFile, type LayerId } from './layer-id.ts'
import { isPresent } from '../ledger/is-present.ts'

/** A VM's folder does not contain the layer, or contains something else under its name. */
export class LayerMissing extends Error {
  override readonly name = 'LayerMissing'
}

/** Minimum milliseconds between the retirement of a layer and its deletion. */
const RETIRED_MS = 20_000
/** With fewer free bytes on the disk, a sweep deletes unneeded layers at once. */
const LOW_DISK_BYTES = 2 * 1024 ** 3

/**
 * The frozen layers of all disks: read-only files of root that never change. QEMU gets descriptors of them.
 *
 *     in a VM's folder ──adopt──► here ──not needed──► retired ──still not needed, later──► deleted
 *                                   ▲                     │
 *                                   └───────needed────────┘
 *
 * A layer is needed as long as a VM's chain or a checkpoint names it. There is no reference count: {@link sweep} collects all
 * references twice, with time in between, so that one overlooked reference does not lose a layer.
 */
export class Layers {
  readonly #folder: string
  readonly #retired: string
  readonly #log: Pick<Logger, 'error'>
  /** When each layer was retired. For those of an earlier agent process: when this one first found them. */
  readonly #retiredAtMs = new Map<LayerId, number>()

  constructor({ layers, retiredLayers }: Pick<DataDir, 'layers' | 'retiredLayers'>, log: Pick<Logger, 'error'>) {
    this.#folder = layers
    this.#retired = retiredLayers
    this.#log = log
  }

  path(id: LayerId): string {
    return join(this.#folder, fileOfLayer(id))
  }

  async inode(id: LayerId): Promise<number> {
    return (await lstat(this.path(id))).ino
  }

  /**
   * Moves the frozen layers of a VM's chain that are still in its folder. Called after each freeze, and when the agent adopts a
   * VM: the earlier agent may have been killed between the freeze and this.
   *
   * @throws LayerMissing
   */
  async adopt(vmFolder: string, { layers }: DiskChain): Promise<void> {
    for (const id of layers) {
      if ((await isPresent(this.path(id))) || (await this.#restore(id))) continue
      await this.#take(join(vmFolder, fileOfLayer(id)), id)
    }
  }

  /**
   * Retires every layer that `needed()` does not name, deletes those that were retired a while ago and are still not needed, and
   * restores those that are needed again. Calls `needed` after it has listed the folders: the list does not contain layers that
   * are adopted meanwhile. Code that ends a VM must name its layers in a checkpoint before it forgets the VM.
   *
   * @returns names of files that are no layers
   */
  async sweep(needed: () => Iterable<LayerId>): Promise<string[]> {
    const names = await readdir(this.#folder)
    const retired = await readdir(this.#retired)
    const kept = new Set<LayerId>(needed())
    for (const name of names) {
      const id = layerOfFile(name)
      if (id === null || kept.has(id)) continue
      // Another sweep, which runs at the same time, may have retired it.
      if (await isMoved(this.path(id), join(this.#retired, name))) this.#retiredAtMs.set(id, Date.now())
    }
    const isLow = await this.#isDiskLow()
    const stillNeeded = isLow ? new Set<LayerId>(needed()) : kept
    for (const name of isLow ? await readdir(this.#retired) : retired) {
      const id = layerOfFile(name)
      if (id === null) continue
      const sinceMs = this.#retiredAtMs.get(id)
      if (sinceMs === undefined) this.#retiredAtMs.set(id, Date.now())
      if (stillNeeded.has(id)) await this.#restore(id)
      else if (isLow || (sinceMs !== undefined && Date.now() - sinceMs > RETIRED_MS)) await this.#remove(id)
    }
    return names.filter((name) => layerOfFile(name) === null)
  }

  /** Makes all adoptions so far durable. */
  async sync(): Promise<void> {
    await syncFolder(this.#folder)
  }

  /** @returns false when the layer was not retired */
  async #restore(id: LayerId): Promise<boolean> {
    const isRetired = await isMoved(join(this.#retired, fileOfLayer(id)), this.path(id))
    this.#retiredAtMs.delete(id)
    if (isRetired) this.#log.error({ layer: id }, 'a retired layer is needed again: restored')
    return isRetired
  }

  async #remove(id: LayerId): Promise<void> {
    await rm(join(this.#retired, fileOfLayer(id)), { recursive: true, force: true })
    this.#retiredAtMs.delete(id)
  }

  async #isDiskLow(): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#folder)
    return bavail * bsize < LOW_DISK_BYTES
  }

  /**
   * The VM's user owns the source folder and can exchange the file at any time. So the agent checks the file through a
   * descriptor, and checks after the rename that it has moved this file.
   */
  async #take(from: string, id: LayerId): Promise<void> {
    const file = await openUntrusted(from).catch((error: unknown) => {
      throw new LayerMissing(`layer ${id} cannot be opened`, { cause: error })
    })
    try {
      const checked = await file.stat({ bigint: true })
      if (!checked.isFile() || checked.nlink !== 1n) throw new LayerMissing(`layer ${id} is no file of its own`)
      await file.chmod(0o400)
      if (process.getuid?.() === 0) await file.chown(0, 0)
      await rename(from, this.path(id))
      const { ino, dev, isFile } = await lstat(this.path(id), { bigint: true }).then((stats) => ({
        ino: stats.ino,
        dev: stats.dev,
        isFile: stats.isFile(),
      }))
      if (isFile && ino === checked.ino && dev === checked.dev) return
      // The VM's user has exchanged it, possibly for a folder.
      await rm(this.path(id), { recursive: true, force: true })
      throw new LayerMissing(`layer ${id} was exchanged`)
    } finally {
      await file.close()
    }
  }
}

/** Opens the layer that a VM writes, in the VM's folder. */
export async function openActiveLayer(vmFolder: string, id: LayerId): Promise<FileHandle> {
  return openUntrusted(join(vmFolder, fileOfLayer(id)))
}

/** For a file in a folder that belongs to a VM's user, who may have put a link or a pipe there. */
async function openUntrusted(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
}

/** Renames a file. @returns false if it is not there */
async function isMoved(from: string, to: string): Promise<boolean> {
  return rename(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false
      throw error
    },
  )
}
