import { sealedAtMs } from '../../store/checkpoints/checkpoint-files.ts'
import { CheckpointDamaged } from '../../store/checkpoints/checkpoint-errors.ts'
import {
  compressBeside,
  CompressionCancelled,
  dropCopies,
  replaceByCompressed,
  type SealedPages,
} from '../../store/checkpoints/compressed-memory.ts'
import { sealedMemory } from '../../store/checkpoints/memory-bases.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import { NEWER_FORMAT, writeManifest, type Manifest } from '../../store/sandboxes/manifest.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Milliseconds between two looks for what is due. */
const LOOK_MS = 30_000

/**
 * Compresses the memory of sandboxes that have been hibernated for a while, one at a time and only while nobody starts a VM.
 * A wake does not wait for it: it cancels the compression, or decompresses what is compressed by then.
 */
export class HibernationCompressor {
  readonly #host: Host
  readonly #afterMs: number
  /** Hibernations that were compressed, or are not worth it. */
  readonly #done = new WeakSet<Manifest>()
  readonly #timer: NodeJS.Timeout
  #isRunning = false
  #isStopped = false

  /** @param afterMs for which a sandbox has to be hibernated */
  constructor(host: Host, afterMs: number) {
    this.#host = host
    this.#afterMs = afterMs
    this.#timer = setInterval(() => void this.run(), LOOK_MS).unref()
  }

  /** Also cancels a compression. */
  stop(): void {
    clearInterval(this.#timer)
    this.#isStopped = true
  }

  /** Compresses all that is due, unless that is going on. Never rejects. */
  async run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      for (const sandbox of this.#host.sandboxes.values()) {
        if (this.#isStopped || this.#host.gates.restores.isBusy) return
        if (await this.#isDue(sandbox)) await this.#compress(sandbox)
      }
    } finally {
      this.#isRunning = false
    }
  }

  async #isDue(sandbox: Sandbox): Promise<boolean> {
    const { manifest, id } = sandbox
    if (!isHibernated(sandbox, manifest) || manifest.cold || this.#done.has(manifest)) return false
    const sealedAt = await sealedAtMs(this.#host.store.dir.hibernation(id))
    return sealedAt !== null && Date.now() - sealedAt >= this.#afterMs
  }

  async #compress(sandbox: Sandbox): Promise<void> {
    const { manifest, id } = sandbox
    const { log, gates } = this.#host
    const isWanted = () => isHibernated(sandbox, manifest) && !gates.restores.isBusy && !this.#isStopped
    try {
      const files = await compressBeside(await this.#pagesOf(sandbox), isWanted)
      const replaced = files.length === 0 ? manifest : await this.#replace(sandbox, manifest, files)
      this.#done.add(replaced)
    } catch (error) {
      // It is tried again when the host has time. Without room there is nothing to be gained by that.
      if (error instanceof CompressionCancelled) return
      if (!(error instanceof CheckpointDamaged) && !isDiskFull(error))
        log.warn({ err: error, sandbox_id: id }, 'memory of a hibernated sandbox not compressed')
      this.#done.add(manifest)
    }
  }

  async #pagesOf({ id }: Sandbox): Promise<SealedPages[]> {
    const { checkpoints, dir } = this.#host.store
    const folder = dir.hibernation(id)
    const layers = sealedMemory(folder, await checkpoints.read(folder))
    return layers.map(({ files, seal }) => ({ path: files.pages, seal: seal.pages }))
  }

  /** @returns the manifest of the sandbox from then on */
  async #replace(sandbox: Sandbox, manifest: Manifest, files: readonly SealedPages[]): Promise<Manifest> {
    const { checkpoints, dir } = this.#host.store
    return sandbox.change(async () => {
      if (sandbox.manifest !== manifest || manifest.status !== 'hibernated') {
        await dropCopies(files)
        throw new CompressionCancelled('the sandbox has changed')
      }
      // An agent of an earlier version would take the checkpoint for damaged.
      const compressed: Manifest = { ...manifest, format: NEWER_FORMAT }
      await writeManifest(dir.sandbox(sandbox.id), compressed)
      sandbox.manifest = compressed
      await replaceByCompressed(dir.hibernation(sandbox.id), files, (path) => checkpoints.unlink(path))
      return compressed
    })
  }
}

function isHibernated({ manifest, transitions, leaving }: Sandbox, expected: Manifest): boolean {
  return manifest === expected && manifest.status === 'hibernated' && !transitions.isBusy && !leaving.signal.aborted
}
