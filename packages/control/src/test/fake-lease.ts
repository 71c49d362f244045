import { randomUUID } from 'node:crypto'
import { leaseBody, type LeaseState } from '@offshoot/contract/agent-lease'
import type { Handled } from './handled.ts'

/** The lease of a pretended agent, as a real one keeps it (`store/lease/lease-term.ts` of the agent). */
export class FakeLease {
  /** `false`: the agent is of a version that knows no leases. */
  isKnown = true
  /** `false`: it could not stop databases in time. */
  canStop = true
  generation: number | null = null
  /** By the clock of this process. */
  endsAtMs = 0
  /** Renewals that it took. */
  renewals = 0
  readonly #challenges = new Map<string, number>()

  get isHeld(): boolean {
    return this.generation !== null && performance.now() < this.endsAtMs
  }

  get state(): LeaseState {
    const leftMs = Math.max(0, Math.ceil(this.endsAtMs - performance.now()))
    const isRequired = this.generation !== null
    return { is_required: isRequired, left_ms: leftMs, generation: this.generation ?? 0, stopped_vms: 0 }
  }

  answer(method: string, body: unknown): Handled {
    if (!this.isKnown) return { status: 404, body: { error: 'not found' } }
    if (method === 'DELETE') {
      this.generation = null
      return { status: 204 }
    }
    const { challenge, seconds, generation } = leaseBody.parse(body)
    if (!this.canStop) return { status: 200, body: { ...this.state, challenge: null, is_renewed: false } }
    const madeAtMs = challenge === undefined ? undefined : this.#challenges.get(challenge)
    if (madeAtMs !== undefined) {
      this.generation = generation
      this.endsAtMs = Math.max(this.endsAtMs, madeAtMs + seconds * 1000)
      this.renewals += 1
    }
    const next = randomUUID()
    this.#challenges.set(next, performance.now())
    return { status: 200, body: { ...this.state, challenge: next, is_renewed: madeAtMs !== undefined } }
  }
}
