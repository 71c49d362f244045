import { Deadline } from '@offshoot/kit/deadline'
import { announce, type Host } from '../sandboxes/host.ts'
import type { Sandbox } from '../sandboxes/sandbox.ts'
import { listenersOf } from './listeners-of.ts'

const TICK_MS = 500
/** Ticks from one look to the next: soon while something was under way a moment ago, seldom otherwise. */
const BUSY_TICKS = 2
const IDLE_TICKS = 20
/** Milliseconds after the last activity during which a sandbox is looked at soon. */
const BUSY_MS = 15_000
const ANSWER_MS = 5_000
/** Events of one look: a guest that opens and closes ports without end must not fill the log. The rest is told by later looks. */
const TOLD_AT_ONCE = 16

/**
 * Says when a port of a sandbox opens or closes: `sandbox.port_opened`, `sandbox.port_closed`.
 *
 * Nothing in a guest tells of a new listener, so it is asked: a question of no activity, which starts nothing there. What was
 * told survives a restart of the agent in the events themselves.
 */
export class ListenerWatch {
  readonly #host: Host
  readonly #timer: NodeJS.Timeout
  readonly #known = new WeakMap<Sandbox, Set<number>>()
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
    // Sandboxes that are being started come first.
    const { isBusy } = this.#host.gates.restores
    for (const sandbox of this.#host.sandboxes.values()) {
      const isActive = sandbox.activity.idleMs < BUSY_MS
      if (!this.#isWanted(sandbox) || this.#underWay.has(sandbox) || (isBusy && !isActive)) continue
      if (this.#tick < (this.#dueAt.get(sandbox) ?? 0)) continue
      this.#dueAt.set(sandbox, this.#tick + (isActive ? BUSY_TICKS : IDLE_TICKS))
      void this.#compare(sandbox)
    }
  }

  async #compare(sandbox: Sandbox): Promise<void> {
    const { vm } = sandbox
    if (vm === null) return
    this.#underWay.add(sandbox)
    try {
      const deadline = Deadline.after(ANSWER_MS, `listeners of ${sandbox.id}`)
      const ports = await listenersOf(await vm.link(deadline), deadline)
      await this.#tell(sandbox, new Set(ports))
    } catch (error) {
      this.#host.log.debug({ err: error, sandbox_id: sandbox.id }, 'listeners not asked for')
    } finally {
      this.#underWay.delete(sandbox)
    }
  }

  async #tell(sandbox: Sandbox, ports: ReadonlySet<number>): Promise<void> {
    let known = this.#known.get(sandbox)
    if (known === undefined) this.#known.set(sandbox, (known = sandbox.events.openPorts()))
    const changes = [
      ...[...known].filter((port) => !ports.has(port)).map((port) => ({ port, isOpen: false })),
      ...[...ports].filter((port) => !known.has(port)).map((port) => ({ port, isOpen: true })),
    ].slice(0, TOLD_AT_ONCE)
    if (changes.length === 0) return
    // In turn with what else happens to the sandbox, so that nothing follows its end.
    await sandbox.transitions.run(async () => {
      for (const { port, isOpen } of changes) {
        if (!this.#isWanted(sandbox)) return
        await announce(this.#host, sandbox, {
          type: isOpen ? 'sandbox.port_opened' : 'sandbox.port_closed',
          message: isOpen ? `port ${port} accepts connections` : `port ${port} accepts no more connections`,
          metadata: { port },
        })
        if (isOpen) known.add(port)
        else known.delete(port)
      }
    })
  }

  #isWanted(sandbox: Sandbox): boolean {
    const isHere = this.#host.sandboxes.get(sandbox.id) === sandbox && sandbox.manifest.status === 'running'
    return isHere && sandbox.stopping === undefined && sandbox.vm !== null && !sandbox.leaving.signal.aborted
  }
}
