import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'

export interface SandboxRound {
  readonly tickMs: number
  /** Called at every tick at which a sandbox is due. If it returns `false`, the sandbox is still due at the next tick. */
  isWanted(sandbox: Sandbox): boolean
  /** Must not reject. @returns ticks until the sandbox is due again */
  look(sandbox: Sandbox): Promise<number>
}

/** Runs periodic work for each sandbox of a host, at most once at a time per sandbox. */
export class SandboxRounds {
  readonly #host: Host
  readonly #round: SandboxRound
  readonly #timer: NodeJS.Timeout
  readonly #dueAt = new WeakMap<Sandbox, number>()
  readonly #underWay = new Set<Sandbox>()
  #tick = 0

  constructor(host: Host, round: SandboxRound) {
    this.#host = host
    this.#round = round
    this.#timer = setInterval(() => this.#next(), round.tickMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #next(): void {
    this.#tick += 1
    for (const sandbox of this.#host.sandboxes.values()) {
      const isDue = this.#tick >= (this.#dueAt.get(sandbox) ?? 0) && !this.#underWay.has(sandbox)
      if (isDue && this.#round.isWanted(sandbox)) void this.#look(sandbox)
    }
  }

  async #look(sandbox: Sandbox): Promise<void> {
    this.#underWay.add(sandbox)
    const ticks = await this.#round.look(sandbox)
    this.#dueAt.set(sandbox, this.#tick + ticks)
    this.#underWay.delete(sandbox)
  }
}
