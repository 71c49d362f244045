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

/** Milliseconds between two searches for sandboxes to compress. */
const LOOK_MS = 30_000

/**
 * Compresses the memory of sandboxes that have been hibernated for a while, one at a time, and only while no VM is being
 * started. A wake cancels the compression of its sandbox, and decompresses the files that are compressed already.
 */
export class HibernationCompressor {
  readonly #host: Host
  readonly #afterMs: number
  /** Manifests of hibernated sandboxes whose memory is compressed, or does not become smaller. */
  readonly #done = new WeakSet<Manifest>()
  readonly #timer: NodeJS.Timeout
  #isRunning = false
  #isStopped = false

  /** @param afterMs minimum time since the hibernation */
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

  /** Compresses the memory of all sandboxes that are due. Does nothing while another run is in progress. Never rejects. */
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
    const shouldContinue = () => isHibernated(sandbox, manifest) && !gates.restores.isBusy && !this.#isStopped
    try {
      const files = await compressBeside(await this.#pagesOf(sandbox), shouldContinue)
      const replaced = files.length === 0 ? manifest : await this.#replace(sandbox, manifest, files)
      this.#done.add(replaced)
    } catch (error) {
      // The next run retries a cancelled compression. A retry would not help on a full disk.
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

  /** @returns the sandbox's new manifest */
  async #replace(sandbox: Sandbox, manifest: Manifest, files: readonly SealedPages[]): Promise<Manifest> {
    const { checkpoints, dir } = this.#host.store
    return sandbox.change(async () => {
      if (sandbox.manifest !== manifest || manifest.status !== 'hibernated') {
        await dropCopies(files)
        throw new CompressionCancelled('the sandbox has changed')
      }
      // An earlier version of the agent would report the compressed checkpoint as damaged.
      const compressed: Manifest = { ...manifest, format: NEWER_FORMAT }
      await writeManifest(dir.sandbox(sandbox.id), compressed)
      sandbox.manifest = compressed
      await replaceByCompressed(dir.hibernation(sandbox.id), files, (path) => checkpoints.unlink(path))
      return compressed
    })
  }
}

function isHibernated({ manifest, transitions, leaving }: Sandbox, expected: Manifest): boolean {
  const isAtRest = manifest.status === 'hibernated' && manifest.move === undefined && !transitions.isBusy
  return manifest === expected && isAtRest && !leaving.signal.aborted
}
