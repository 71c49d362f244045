import { expect } from 'vitest'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { setPlan } from '../kinds/billing/limits/set-plan.ts'
import { FakeAgent } from './fake-agent.ts'
import { type Answer, call, eventually, Harness, type RunningControl, type Tenant } from './harness.ts'
import { MailServer, textOf } from './mail-server.ts'

/** A control process with an agent and a mail server, for tests of workspaces and their members. */
export class OrgHarness {
  readonly harness: Harness
  readonly agent: FakeAgent
  readonly mails: MailServer
  readonly control: RunningControl

  private constructor(harness: Harness, agent: FakeAgent, mails: MailServer, control: RunningControl) {
    this.harness = harness
    this.agent = agent
    this.mails = mails
    this.control = control
  }

  static async start(): Promise<OrgHarness> {
    const agent = await FakeAgent.start()
    const mails = await MailServer.start()
    const harness = await Harness.start()
    const control = await harness.control([agent], {
      limits: { rate_burst: 1_000_000, rate_per_second: 1_000_000 },
      mail: { from: 'noreply@example.com', smtp: { host: '127.0.0.1', port: mails.port } },
    })
    return new OrgHarness(harness, agent, mails, control)
  }

  async stop(): Promise<void> {
    await this.harness.stop()
    await this.agent.kill()
    await this.mails.stop()
  }

  /** A tenant on a plan without caps. */
  async tenant(name: string): Promise<Tenant> {
    const made = await this.harness.tenant(this.control, name)
    await setPlan(this.harness.pool, made.workspaceId as WorkspaceId, 'enterprise')
    return made
  }

  async ask(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
    return call(this.control.url, method, `/v1/orgs${path}`, { token, ...(body !== undefined && { body }) })
  }

  /** The token in the newest invitation to that address. */
  async mailedToken(email: string): Promise<string> {
    return eventually(() => {
      const mail = this.mails.to(email)
      return mail && /invites\/(\S+)\/accept/.exec(textOf(mail))?.[1]
    })
  }

  /** A new user who was invited to that workspace and has accepted. */
  async join(by: Tenant, name: string, role = 'member'): Promise<Tenant> {
    const made = await this.tenant(name)
    const email = `${name}@example.com`
    expect((await this.ask(by.jwt, 'POST', `/${by.workspaceId}/members`, { email, role })).status).toBe(201)
    expect((await this.ask(made.jwt, 'POST', `/invites/${await this.mailedToken(email)}/accept`)).status).toBe(200)
    return made
  }
}
