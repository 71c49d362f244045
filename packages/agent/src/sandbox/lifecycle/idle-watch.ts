import { writeActivity } from '../../store/sandboxes/activity-file.ts'
import { hibernateSandbox } from './hibernate.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

const LOOK_MS = 1000
/** Milliseconds until the retry of a failed hibernation, on a full disk for example. */
const RETRY_MS = 60_000

/**
 * Hibernates each persistent sandbox that has had no activity for its idle timeout. Records the time of the last activity
 * of all sandboxes for the agent's next start.
 */
export class IdleWatch {
  readonly #host: Host
  readonly #timer: NodeJS.Timeout
  /** The time of each sandbox's last activity, as recorded last. */
  readonly #noted = new WeakMap<Sandbox, number>()
  readonly #retryAt = new WeakMap<Sandbox, number>()
  readonly #underWay = new Set<Sandbox>()

  constructor(host: Host) {
    this.#host = host
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    for (const sandbox of this.#host.sandboxes.values()) {
      if (sandbox.manifest.status !== 'running') continue
      void this.#note(sandbox)
      if (isIdle(sandbox) && !this.#underWay.has(sandbox)) void this.#hibernate(sandbox)
    }
  }

  async #note(sandbox: Sandbox): Promise<void> {
    const { idleMs } = sandbox.activity
    const lastAt = performance.now() - idleMs
    if (lastAt - (this.#noted.get(sandbox) ?? 0) < LOOK_MS / 2) return
    this.#noted.set(sandbox, lastAt)
    // Fails if the sandbox is being deleted with its folder.
    await writeActivity(this.#host.store.dir.sandbox(sandbox.id), idleMs).catch(() => undefined)
  }

  async #hibernate(sandbox: Sandbox): Promise<void> {
    if (performance.now() < (this.#retryAt.get(sandbox) ?? 0)) return
    this.#underWay.add(sandbox)
    try {
      await hibernateSandbox(this.#host, sandbox, { isWanted: () => isIdle(sandbox) })
    } catch (error) {
      this.#retryAt.set(sandbox, performance.now() + RETRY_MS)
      this.#host.log.warn({ err: error, sandbox_id: sandbox.id }, 'idle sandbox not hibernated')
    } finally {
      this.#underWay.delete(sandbox)
    }
  }
}

function isIdle({ manifest, activity }: Sandbox): boolean {
  return manifest.persistent && activity.idleMs >= manifest.idle_timeout_seconds * 1000
}
