import type { AgentLease } from '@offshoot/contract/agent-lease'
import { uptimeMs } from '../store/lease/host-lease.ts'
import type { AgentProcess } from './agent-process.ts'

const GENERATION = 1

/** Gives leases to an agent, as control does. */
export class LeaseGiver {
  readonly #agent: AgentProcess

  constructor(agent: AgentProcess) {
    this.#agent = agent
  }

  /** @returns a request that renews the lease, and the end as control counts it */
  async note(seconds: number): Promise<{ readonly endsAtMs: number; readonly send: () => Promise<AgentLease> }> {
    const { challenge } = await this.#put({ seconds, generation: 0 })
    const endsAtMs = uptimeMs() + seconds * 1000
    return { endsAtMs, send: () => this.#put({ challenge, seconds, generation: GENERATION }) }
  }

  /** @returns the end of the lease, in milliseconds since the host's boot. @throws Error if it was not renewed */
  async renew(seconds: number): Promise<number> {
    const { endsAtMs, send } = await this.note(seconds)
    const lease = await send()
    if (!lease.is_renewed || !lease.is_required) throw new Error(`the lease was not renewed: ${JSON.stringify(lease)}`)
    return endsAtMs
  }

  async #put(body: object): Promise<AgentLease> {
    return (await this.#agent.call<AgentLease>('PUT', '/v1/agent/lease', { workspace: null, body })).body
  }
}
