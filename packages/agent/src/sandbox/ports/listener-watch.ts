import { Deadline } from '@offshoot/kit/deadline'
import { announce, type Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { SandboxRounds } from '../model/sandbox-rounds.ts'
import { listenersOf } from './guest-ports.ts'
import { AnnouncedPorts } from './announced-ports.ts'

const TICK_MS = 500
/** Ticks between two polls of a sandbox: few after recent activity, many otherwise. */
const BUSY_TICKS = 2
const IDLE_TICKS = 20
/** Milliseconds after the last activity during which a sandbox counts as active. */
const BUSY_MS = 15_000
const ANSWER_MS = 5_000

/**
 * Announces when a port of a sandbox opens or closes: `sandbox.port_opened`, `sandbox.port_closed`.
 *
 * A guest does not report new listeners, so the agent polls it. A poll does not count as activity and starts no process in the
 * guest. After a restart of the agent, the events themselves tell which ports were announced.
 */
export class ListenerWatch {
  readonly #host: Host
  readonly #rounds: SandboxRounds
  readonly #announced = new WeakMap<Sandbox, AnnouncedPorts>()

  constructor(host: Host) {
    this.#host = host
    this.#rounds = new SandboxRounds(host, {
      tickMs: TICK_MS,
      // Starting sandboxes have priority: while the host restores VMs, poll active sandboxes only.
      isWanted: (sandbox) => this.#isWanted(sandbox) && (isActive(sandbox) || !host.gates.restores.isBusy),
      look: (sandbox) => this.#look(sandbox),
    })
  }

  stop(): void {
    this.#rounds.stop()
  }

  async #look(sandbox: Sandbox): Promise<number> {
    const ticks = isActive(sandbox) ? BUSY_TICKS : IDLE_TICKS
    await this.#compare(sandbox).catch((error: unknown) =>
      this.#host.log.debug({ err: error, sandbox_id: sandbox.id }, 'listeners not polled'),
    )
    return ticks
  }

  async #compare(sandbox: Sandbox): Promise<void> {
    if (sandbox.vm === null) return
    const deadline = Deadline.after(ANSWER_MS, `listeners of ${sandbox.id}`)
    const ports = await listenersOf(await sandbox.vm.link(deadline), deadline)
    await this.#announce(sandbox, new Set(ports))
  }

  async #announce(sandbox: Sandbox, ports: ReadonlySet<number>): Promise<void> {
    const nowMs = performance.now()
    let announced = this.#announced.get(sandbox)
    if (announced === undefined)
      this.#announced.set(sandbox, (announced = new AnnouncedPorts(sandbox.events.openPorts(), nowMs)))
    const changes = announced.changes(ports, nowMs)
    if (changes.length === 0) return
    // Serialized with state changes, so that no event follows `sandbox.deleted`.
    await sandbox.transitions.run(async () => {
      for (const change of changes) {
        const { port, isOpen } = change
        if (!this.#isWanted(sandbox)) return
        await announce(this.#host.store, sandbox, {
          type: isOpen ? 'sandbox.port_opened' : 'sandbox.port_closed',
          message: isOpen ? `port ${port} accepts connections` : `port ${port} accepts no more connections`,
          metadata: { port },
        })
        announced.markAnnounced(change)
      }
    })
  }

  #isWanted(sandbox: Sandbox): boolean {
    const isHere = this.#host.sandboxes.get(sandbox.id) === sandbox && sandbox.manifest.status === 'running'
    if (sandbox.manifest.durable && !this.#host.store.lease.isHeld) return false
    return isHere && sandbox.stopping === undefined && sandbox.vm !== null && !sandbox.leaving.signal.aborted
  }
}

function isActive({ activity }: Sandbox): boolean {
  return activity.idleMs < BUSY_MS
}
