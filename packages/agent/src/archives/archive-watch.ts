import type { Host } from '../sandboxes/host.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { takeFiles } from './take-files.ts'

const TICK_MS = 1000
/** Ticks from one look to the next: soon while something was under way a moment ago, seldom otherwise. */
const BUSY_TICKS = 2
const IDLE_TICKS = 20
/** Milliseconds after the last activity during which a guest may still finish something. */
const BUSY_MS = 120_000
/** Ticks until one is looked at again that has nothing to be kept, and one of which nothing could be taken. */
const NONE_TICKS = 600
const FAILED_TICKS = 10

/** Takes what durable guests that run want to have kept. A look is no activity, and wakes nobody. */
export class ArchiveWatch {
  readonly #host: Host
  readonly #timer: NodeJS.Timeout
  readonly #dueAt = new WeakMap<Sandbox, number>()
  readonly #underWay = new Set<Sandbox>()
  #tick = 0

  constructor(host: Host) {
    this.#host = host
    this.#timer = setInterval(() => this.#look(), TICK_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    this.#tick += 1
    for (const sandbox of this.#host.sandboxes.values()) {
      if (!isWanted(sandbox) || this.#underWay.has(sandbox)) continue
      if (this.#tick < (this.#dueAt.get(sandbox) ?? 0)) continue
      void this.#take(sandbox)
    }
  }

  async #take(sandbox: Sandbox): Promise<void> {
    this.#underWay.add(sandbox)
    let ticks = sandbox.activity.idleMs < BUSY_MS ? BUSY_TICKS : IDLE_TICKS
    try {
      const taken = await takeFiles(this.#host.archives, sandbox)
      if (taken === null) ticks = NONE_TICKS
      else if (taken > 0) ticks = 1
      sandbox.archiveError = null
    } catch (error) {
      ticks = FAILED_TICKS
      if (isWanted(sandbox)) this.#note(sandbox, error)
    } finally {
      this.#dueAt.set(sandbox, this.#tick + ticks)
      this.#underWay.delete(sandbox)
    }
  }

  /** Once for each reason: it may last for days. */
  #note(sandbox: Sandbox, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    if (sandbox.archiveError === reason) return
    sandbox.archiveError = reason
    this.#host.log.warn({ err: error, sandbox_id: sandbox.id }, 'nothing taken into the archive')
  }
}

function isWanted({ manifest, stopping, vm, leaving }: Sandbox): boolean {
  const runs = manifest.durable && manifest.status === 'running' && vm !== null
  return runs && stopping === undefined && !leaving.signal.aborted
}
