import { Deadline } from '@offshoot/kit/deadline'
import { answersSsh } from '../../machine/guest/ssh-server.ts'
import { announce, type Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { Semaphore } from '@offshoot/kit/semaphore'

/** Backoff in milliseconds before each attempt. After the last one, the sandbox counts as one without an SSH server. */
const WAITS_MS = [400, 1000, 2000, 4000, 8000, 15_000, 30_000]
/** Milliseconds to wait while other sandboxes are being started. */
const YIELD_MS = 250
/** Milliseconds for one attempt. */
const PROBE_MS = 8000
const MAX_WAITING = 10_000

/**
 * Announces when the SSH server of a sandbox first answers: `sandbox.ssh_ready`. Once per sandbox, also across restarts of the
 * agent.
 *
 * Probes have the lowest priority: they begin after the create was answered, run one at a time, never while a sandbox is being
 * started, and the first one not while the sandbox serves a request.
 */
export class SshProbes {
  readonly #host: Host
  readonly #stopping: AbortSignal
  readonly #semaphore = new Semaphore(1, MAX_WAITING)

  constructor(host: Host, stopping: AbortSignal) {
    this.#host = host
    this.#stopping = stopping
  }

  /** Schedules probes, unless all attempts of this sandbox are in the past. */
  watch(sandbox: Sandbox): void {
    const ageMs = Date.now() - Date.parse(sandbox.manifest.created_at)
    let dueMs = 0
    const at = WAITS_MS.findIndex((waitMs) => (dueMs += waitMs) >= ageMs)
    if (at >= 0) this.#after(WAITS_MS[at] ?? 0, sandbox, at)
  }

  #after(waitMs: number, sandbox: Sandbox, at: number): void {
    // `unref`: the agent's shutdown does not wait for a probe.
    setTimeout(() => {
      this.#semaphore
        .run(() => this.#try(sandbox, at))
        .catch((error: unknown) => {
          this.#host.log.debug({ err: error, sandbox_id: sandbox.id }, 'SSH server not probed')
        })
    }, waitMs).unref()
  }

  async #try(sandbox: Sandbox, at: number): Promise<void> {
    if (!this.#isWanted(sandbox)) return
    if (this.#host.gates.restores.isBusy) {
      this.#after(YIELD_MS, sandbox, at)
      return
    }
    const next = WAITS_MS[at + 1]
    // Do not compete with a new guest's first request: under TCG the guest has yet to translate the code for it.
    const isAsked = at === 0 && sandbox.activity.idleMs === 0
    if (isAsked && next !== undefined) this.#after(next, sandbox, at + 1)
    else if (await this.#answers(sandbox)) await this.#announceReady(sandbox)
    else if (next !== undefined) this.#after(next, sandbox, at + 1)
  }

  async #answers({ id, vm }: Sandbox): Promise<boolean> {
    if (vm === null) return false
    const deadline = Deadline.after(PROBE_MS, `SSH server of ${id}`, this.#stopping)
    try {
      return await answersSsh(await vm.link(deadline), deadline)
    } catch {
      return false
    }
  }

  /** Serialized with state changes, so that no event follows `sandbox.deleted`. */
  async #announceReady(sandbox: Sandbox): Promise<void> {
    await sandbox.transitions.run(async () => {
      if (!this.#isWanted(sandbox)) return
      const readyMs = Math.max(0, Date.now() - Date.parse(sandbox.manifest.created_at))
      await announce(this.#host.store, sandbox, {
        type: 'sandbox.ssh_ready',
        message: `SSH server answers after ${readyMs} ms`,
        metadata: { ssh_ready_ms: readyMs },
      })
    })
  }

  #isWanted(sandbox: Sandbox): boolean {
    const isHere = this.#host.sandboxes.get(sandbox.id) === sandbox && sandbox.manifest.status === 'running'
    return isHere && !this.#stopping.aborted && !sandbox.events.has('sandbox.ssh_ready')
  }
}
