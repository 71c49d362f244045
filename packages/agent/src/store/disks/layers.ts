import { constants } from 'node:fs'
import { lstat, open, readdir, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '@offshoot/kit/sync-folder'
import type { Logger } from 'pino'
import type { DataDir } from '../data-dir/data-dir.ts'
import type { DiskChain } from './disk-chain.ts'
import { fileOfLayer, layerOfFile, type LayerId } from './layer-id.ts'
import { isPresent } from '../ledger/is-present.ts'

/** A VM's folder has no such layer, or something that is no layer in its place. */
export class LayerMissing extends Error {
  override readonly name = 'LayerMissing'
}

/** Milliseconds for which a layer that nothing refers to is kept all the same. */
const RETIRED_MS = 20_000
/** Bytes of free disk below which it is not. */
const LOW_DISK_BYTES = 2 * 1024 ** 3

/**
 * The frozen layers of all disks: root's files, read-only, never written again. QEMU gets descriptors of them.
 *
 *     in a VM's folder ──adopt──► here ──nothing refers to it──► retired ──still nothing, later──► gone
 *                                   ▲                               │
 *                                   └───────something does──────────┘
 *
 * A layer is needed as long as a VM's chain or a checkpoint names it. Nobody counts: {@link sweep} asks, twice, with time in
 * between, so that a reference which was overlooked once loses nothing.
 */
export class Layers {
  readonly #folder: string
  readonly #retired: string
  readonly #log: Pick<Logger, 'error'>
  /** When each was retired; those of an earlier agent count from our first look. */
  readonly #retiredAtMs = new Map<LayerId, number>()

  constructor({ layers, retiredLayers }: Pick<DataDir, 'layers' | 'retiredLayers'>, log: Pick<Logger, 'error'>) {
    this.#folder = layers
    this.#retired = retiredLayers
    this.#log = log
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
      if ((await isPresent(this.path(id))) || (await this.#bringBack(id))) continue
      await this.#take(join(vmFolder, fileOfLayer(id)), id)
    }
  }

  /**
   * Retires every layer that is not among `needed()`, and removes those that were retired a while ago and are still not needed. A
   * retired layer that is needed comes back. `needed` is called after the folders have been listed: a layer that is adopted
   * meanwhile is not in the list. Who ends a VM must name its layers by a checkpoint before it lets go of it.
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
      await rename(this.path(id), join(this.#retired, name))
      this.#retiredAtMs.set(id, Date.now())
    }
    const isLow = await this.#isDiskLow()
    const stillNeeded = isLow ? new Set<LayerId>(needed()) : kept
    for (const name of isLow ? await readdir(this.#retired) : retired) {
      const id = layerOfFile(name)
      if (id === null) continue
      const sinceMs = this.#retiredAtMs.get(id)
      if (sinceMs === undefined) this.#retiredAtMs.set(id, Date.now())
      if (stillNeeded.has(id)) await this.#bringBack(id)
      else if (isLow || (sinceMs !== undefined && Date.now() - sinceMs > RETIRED_MS)) await this.#remove(id)
    }
    return names.filter((name) => layerOfFile(name) === null)
  }

  /** What was adopted so far stays where it is, even when the host loses power. */
  async sync(): Promise<void> {
    await syncFolder(this.#folder)
  }

  /** @returns false when the layer was not retired */
  async #bringBack(id: LayerId): Promise<boolean> {
    const isRetired = await rename(join(this.#retired, fileOfLayer(id)), this.path(id)).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return false
        throw error
      },
    )
    this.#retiredAtMs.delete(id)
    if (isRetired) this.#log.error({ layer: id }, 'a layer that was retired is needed: brought back')
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
      // The VM's user has put it there: it may be a folder.
      await rm(this.path(id), { recursive: true, force: true })
      throw new LayerMissing(`layer ${id} was exchanged`)
    } finally {
      await file.close()
    }
  }
}
