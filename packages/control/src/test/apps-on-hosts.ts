import { edgeApps } from '../kinds/apps/edge-app-statements.ts'
import { FakeAgent } from './fake-agent.ts'
import { FaultyGuest } from './faulty-guest.ts'
import { call, eventually, Harness, type RunningControl, type Tenant, type TestSettings } from './harness.ts'
import { OPERATOR, OPERATOR_KEY } from './operator.ts'

export interface DeployedApp {
  readonly id: string
  readonly name: string
  readonly deployment: string
}

export interface ShownDeployment {
  readonly id: string
  readonly status: string
  readonly error: string | null
  readonly sandbox_id: string | null
  readonly build_logs: string
}

/** One of the hosts, whose agent may be killed and started again. */
export class AppHost {
  agent: FakeAgent
  guest: FaultyGuest
  readonly #port: number

  private constructor(agent: FakeAgent) {
    this.agent = agent
    this.#port = Number(new URL(agent.url).port)
    this.guest = new FaultyGuest(agent)
  }

  static async start(): Promise<AppHost> {
    return new AppHost(await FakeAgent.start({ templates: ['app'] }))
  }

  get id(): string {
    return this.agent.state.agentId
  }

  /** The sandboxes that it has. */
  get sandboxes(): string[] {
    return [...this.agent.state.sandboxes.keys()]
  }

  async kill(): Promise<void> {
    this.guest.stop()
    await this.agent.kill()
  }

  /** After {@link kill}, with everything that it had. */
  async restart(): Promise<void> {
    const { state } = this.agent
    this.agent = await FakeAgent.start({ templates: ['app'], state, port: this.#port })
    this.guest = new FaultyGuest(this.agent)
  }
}

/** Some hosts on which apps are built and served, with a control process and a workspace. */
export class AppsOnHosts {
  readonly hosts: readonly AppHost[]
  readonly harness: Harness
  readonly control: RunningControl
  readonly alice: Tenant
  readonly #controls: RunningControl[]

  private constructor(hosts: readonly AppHost[], harness: Harness, control: RunningControl, alice: Tenant) {
    this.hosts = hosts
    this.harness = harness
    this.control = control
    this.alice = alice
    this.#controls = [control]
  }

  static async start(count: number, settings: TestSettings = {}): Promise<AppsOnHosts> {
    const hosts = await Promise.all(Array.from({ length: count }, async () => AppHost.start()))
    const harness = await Harness.start()
    const agents = hosts.map(({ agent }) => agent)
    const control = await harness.control(agents, { ...OPERATOR, ...settings })
    return new AppsOnHosts(hosts, harness, control, await harness.tenant(control, 'alice'))
  }

  async stop(): Promise<void> {
    await this.harness.stop()
    await Promise.all(this.hosts.map((host) => host.kill().catch(() => undefined)))
  }

  /** Another control process on the same database. */
  async startControl(): Promise<RunningControl> {
    const agents = this.hosts.map(({ agent }) => agent)
    const control = await this.harness.control(agents, OPERATOR)
    this.#controls.push(control)
    return control
  }

  async ask(method: string, path: string, body?: unknown) {
    return call(this.control.url, method, path, { token: this.alice.key, ...(body !== undefined && { body }) })
  }

  async operate(method: string, path: string) {
    return call(this.control.url, method, `/v1/admin/hosts/${path}`, { token: OPERATOR_KEY })
  }

  /** An app with a live version. */
  async deployed(name: string): Promise<DeployedApp> {
    const commands = { install_command: 'install-it', build_command: 'build-it', start_command: 'start-it' }
    const body = { name, git_url: `https://git.example.com/${name}`, ...commands }
    const { id } = (await this.ask('POST', '/v1/apps', body)).body
    return { id, name, deployment: await this.deploy(id) }
  }

  /** Deploys the app again, and waits until that is live. */
  async deploy(app: string): Promise<string> {
    const { body } = await this.ask('POST', `/v1/apps/${app}/deploys`)
    await this.over(app, body.id, 'live')
    return body.id
  }

  async over(app: string, id: string, status: string): Promise<ShownDeployment> {
    return eventually(async () => {
      const { body } = await this.ask('GET', `/v1/apps/${app}/deploys/${id}`)
      return body.status === status ? (body as ShownDeployment) : null
    })
  }

  /** Control replaces only what has been live for a moment. */
  async age(): Promise<void> {
    await this.harness.pool.query(`update app_deployments set finished_at = finished_at - interval '1 minute'`)
  }

  /** Without the wait for `lost_after_seconds`. */
  async lose(host: AppHost): Promise<void> {
    await host.kill()
    await this.age()
    // Whoever hears it would note that it is not lost.
    await eventually(() => this.#controls.every(({ control }) => control.fleet.byId(host.id)?.isReachable === false))
    await this.harness.pool.query('update agents set lost_at = now() where id = $1', [host.id])
  }

  async isHeard(host: AppHost): Promise<void> {
    await eventually(async () => {
      const { rows } = await this.harness.pool.query('select from agents where id = $1 and lost_at is null', [host.id])
      return rows.length === 1 && this.control.control.fleet.byId(host.id)?.isReachable
    })
  }

  /** The host with the sandbox that serves the app, according to what edges are told. */
  async hostOf(app: DeployedApp): Promise<AppHost | undefined> {
    const [place] = await edgeApps(this.harness.pool, [app.id])
    const { rows } = await this.harness.pool.query('select agent_id from sandboxes where id = $1', [
      place?.sandbox_ids[0],
    ])
    return this.hosts.find(({ id }) => id === rows[0]?.agent_id)
  }

  /** Waits until the app is served elsewhere. */
  async leaves(app: DeployedApp, host: AppHost): Promise<AppHost> {
    return eventually(async () => {
      const now = await this.hostOf(app)
      return now === undefined || now === host ? null : now
    })
  }

  /** The deployments of the app, newest first, with what control notes of them. */
  async deploymentsOf(app: DeployedApp) {
    const { rows } = await this.harness.pool.query(
      'select id, status, cause, error, from_agent from app_deployments where app_id = $1 order by number desc',
      [app.id],
    )
    return rows as { id: string; status: string; cause: string | null; error: string | null; from_agent: string }[]
  }

  async entriesOf(target: string) {
    const { rows } = await this.harness.pool.query(
      `select action, workspace_id, details from audit_log where target = $1 and action like 'app.%' order by created_at`,
      [target],
    )
    return rows
  }

  async drained(host: AppHost) {
    return eventually(async () => {
      const { body } = await this.operate('GET', host.id)
      return body.drain?.ended_at == null ? null : body
    })
  }
}
