import type { WorkspaceId } from '@offshoot/contract/ids'
import type { PlanName } from '@offshoot/contract/plan'
import { setPlan } from '../kinds/billing/limits/set-plan.ts'
import { FakeAgent } from './fake-agent.ts'
import { type Answer, call, Harness, type RunningControl, type Tenant } from './harness.ts'

const LIMITS = { default_plan: 'free', rate_burst: 1_000_000, rate_per_second: 1_000_000 } as const
/** The id of every request. */
export const REQUEST_ID = 'asked-with-this'

interface Asking {
  /** `null`: none. */
  readonly token?: string | null
  readonly url?: string
}

/** A control process with an agent, and workspaces on the plan Free, one after the other. */
export class TenantHarness {
  readonly harness: Harness
  readonly agent: FakeAgent
  readonly control: RunningControl
  #tenant: Tenant | undefined
  #tenants = 0

  private constructor(harness: Harness, agent: FakeAgent, control: RunningControl) {
    this.harness = harness
    this.agent = agent
    this.control = control
  }

  static async start(): Promise<TenantHarness> {
    const agent = await FakeAgent.start()
    const harness = await Harness.start()
    return new TenantHarness(harness, agent, await harness.control([agent], { limits: LIMITS }))
  }

  async stop(): Promise<void> {
    await this.harness.stop()
    await this.agent.kill()
  }

  /** Creates a new workspace without objects or usage, and resets the agent's behaviour. */
  async renew(): Promise<void> {
    this.#tenants += 1
    this.#tenant = await this.harness.tenant(this.control, `tenant-${this.#tenants}`)
    this.agent.onCreate = async () => undefined
    this.agent.onAction = async () => undefined
  }

  get tenant(): Tenant {
    if (this.#tenant === undefined) throw new Error('no workspace yet')
    return this.#tenant
  }

  /** Another control process, with other agents or another rate. */
  other(agents: readonly FakeAgent[], rate: { rate_burst?: number; rate_per_second?: number } = {}) {
    return this.harness.control(agents, { limits: { ...LIMITS, ...rate } })
  }

  /**
   * Sends a request about an existing sandbox to a control process after one of its agents was killed; `left` are the
   * other agents.
   */
  async afterLosing(
    left: readonly FakeAgent[],
    ask: (url: string, sandboxId: string) => Promise<Answer>,
  ): Promise<Answer> {
    const lost = await FakeAgent.start()
    const control = await this.other([lost, ...left])
    const id = await this.created({}, { url: control.url })
    await lost.kill()
    try {
      return await ask(control.url, id)
    } finally {
      await control.stop()
    }
  }

  ask(method: string, path: string, body?: unknown, { token = this.tenant.key, url }: Asking = {}): Promise<Answer> {
    return call(url ?? this.control.url, method, path, {
      headers: { 'x-request-id': REQUEST_ID },
      ...(token !== null && { token }),
      ...(body !== undefined && { body }),
    })
  }

  create(body: Record<string, unknown> = {}, asking: Asking = {}): Promise<Answer> {
    return this.ask('POST', '/v1/sandboxes', { template: 'base', ...body }, asking)
  }

  /** The id of a new sandbox. @throws if it was not created */
  async created(body: Record<string, unknown> = {}, asking: Asking = {}): Promise<string> {
    const answer = await this.create(body, asking)
    if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body.id
  }

  exec(id: string, body: unknown = { cmd: 'true' }, asking: Asking = {}): Promise<Answer> {
    return this.ask('POST', `/v1/sandboxes/${id}/exec`, body, asking)
  }

  /** Runs a statement whose `$1` is the workspace. */
  query(statement: string, ...values: readonly unknown[]) {
    return this.harness.pool.query(statement, [this.tenant.workspaceId, ...values])
  }

  /** Pretends that the workspace has used this much since the start of the month. */
  used(microUsd: number, cpuSeconds: number) {
    return this.query(
      `insert into usage_months (workspace_id, month, micro_usd, cpu_seconds)
       values ($1, date_trunc('month', now() at time zone 'UTC')::date, $2, $3)`,
      microUsd,
      cpuSeconds,
    )
  }

  onPlan(plan: PlanName): Promise<void> {
    return setPlan(this.harness.pool, this.tenant.workspaceId as WorkspaceId, plan)
  }
}
