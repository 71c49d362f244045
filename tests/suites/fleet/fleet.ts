import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Answer, type Call, call } from '../../setup/http.ts'
import { imagesDir } from '../../setup/offshoot.ts'
import { prepareSeed } from '../../setup/seed.ts'
import { until } from '../../setup/until.ts'
import { Balancer } from './balancer.ts'
import { certificateFiles, makeCertificate } from './certificate.ts'
import { ControlRows } from './control-rows.ts'
import { withoutLease } from './held-leases.ts'
import { Host } from './host.ts'
import type { Companion, Member } from './member.ts'
import { type Machine, Network } from './network.ts'
import { type DatabaseService, PostgresServer } from './postgres-server.ts'
import { Service, writeConfig } from './processes.ts'
import { PRESENT, type Release } from './release.ts'
import { WriterLog } from './writer-log.ts'

const execute = promisify(execFile)
const repository = resolve(import.meta.dirname, '../../..')
const BOOTSTRAP = join(repository, 'packages/control/src/bootstrap.ts')
/** At the address of the network. */
const PORTS = { api: 8080, tls: 8443, edge: 8081, databases: 5433, writers: 9999 } as const
const HOSTS = 3
/** Of control, so that no client is refused. */
export const LIMITS = { default_plan: 'self-hosted', rate_burst: 1_000_000, rate_per_second: 1_000_000 } as const
/** Milliseconds for everything to be healthy again after a fault. */
const HEALTHY_MS = 90_000
const ANSWER_MS = 20_000

export interface FleetOptions {
  readonly templates: readonly string[]
  /** Disks of their own for hosts and PostgreSQL, so that they can be full. */
  readonly diskBytes: number | null
  /** Starts PostgreSQL in a folder that does not exist. Default: one server. */
  readonly database?: (fleet: Fleet, folder: string) => Promise<DatabaseService>
  /** Another version, which the first of each kind runs. `null`: all run the same. */
  readonly earlier?: Release | null
  /** Databases run only while their host has a lease. */
  readonly hasLeases?: boolean
  /** Start further services. */
  readonly companions?: readonly ((fleet: Fleet) => Promise<Companion>)[]
}

/** Three hosts, two processes of control, two edges and PostgreSQL, each on a machine of its own. */
export class Fleet {
  readonly network = new Network()
  readonly folder = join(repository, '.offshoot/tests', `fleet-${process.pid}`)
  readonly hosts: Host[] = []
  readonly services: Service[] = []
  readonly companions: Companion[] = []
  writers!: WriterLog
  rows!: ControlRows
  #database!: DatabaseService
  readonly #balancers: Balancer[] = []
  readonly #options: FleetOptions
  readonly #operatorKey = randomBytes(32).toString('base64url')
  readonly #secrets = { edge: randomSecret(), accounts: randomBytes(32), gateway: randomSecret() }
  #apiKey = ''
  #machines = 1
  #joined = 0

  constructor(options: FleetOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    // This also builds what is out of date.
    await prepareSeed(imagesDir, this.#options.templates)
    await mkdir(this.folder, { recursive: true, mode: 0o711 })
    await this.network.layOut()
    const { address } = this.network
    this.writers = await WriterLog.start(address, PORTS.writers)
    await makeCertificate(this.folder)
    this.#database = await this.#startDatabase()
    this.rows = new ControlRows(this.#database.address)
    for (const start of this.#options.companions ?? []) this.companions.push(await start(this))
    await this.#bootstrap()
    const controls = await Promise.all([1, 2].map((number) => this.#startService('control', number)))
    for (const port of [PORTS.api, PORTS.tls]) await this.#balance(port, controls)
    const edges = await Promise.all([1, 2].map((number) => this.#startService('edge', number)))
    for (const port of [PORTS.edge, PORTS.databases]) await this.#balance(port, edges)
    await Promise.all(Array.from({ length: HOSTS }, () => this.#startHost()))
    await this.healthy()
  }

  get members(): readonly Member[] {
    return [...this.hosts, ...this.services, ...this.#database.members, ...this.companions]
  }

  /** A further machine on the network. */
  async machine(): Promise<Machine> {
    this.#machines += 1
    return this.network.machine(this.#machines)
  }

  /** A request of the workspace, through the balancer. @throws if there is no answer */
  async ask(method: string, path: string, body?: object): Promise<Answer> {
    return this.#call(method, path, this.#apiKey, body)
  }

  async askAsOperator(method: string, path: string, body?: object): Promise<Answer> {
    return this.#call(method, path, this.#operatorKey, body)
  }

  /** Starts what has ended, and waits until every part answers. */
  async healthy(): Promise<void> {
    await this.#database.ensureRunning()
    for (const each of [...this.companions, ...this.services, ...this.hosts]) await each.ensureRunning()
    await until(
      'every part of the fleet to be healthy',
      () => this.#whatIsIll().then((ill) => ill === ''),
      HEALTHY_MS,
      200,
    ).catch(async (error: Error) => {
      throw new Error(`${error.message}: ${await this.#whatIsIll()}`)
    })
  }

  /** What is not healthy yet; `''`: everything is. Hosts that an operator has drained take sandboxes again. */
  async #whatIsIll(): Promise<string> {
    try {
      const { status, body, text } = await this.ask('GET', '/healthz')
      if (status !== 200 || body.checks.agents !== 'ok') return text
      if (this.#balancers.some(({ healthy }) => healthy.length < 2)) return 'a process that does not listen'
      const hosts = await this.uncordon()
      if (hosts.some(({ state }) => state !== 'ready')) return JSON.stringify(hosts)
      return this.#options.hasLeases === true ? await withoutLease(this.rows, this.hosts) : ''
    } catch (error) {
      return (error as Error).message
    }
  }

  /** An operator removes a host whose machine never comes back, and another one joins in its place. */
  async replace(host: Host): Promise<void> {
    const isLost = async () => (await this.#hosts()).some(({ id, state }) => id === host.id && state === 'lost')
    await until(`${host.name} to be lost`, isLost, HEALTHY_MS, 250)
    this.hosts.splice(this.hosts.indexOf(host), 1)
    const { status, text } = await this.askAsOperator('DELETE', `/v1/admin/hosts/${host.id}?reason=burnt`)
    if (status !== 204) throw new Error(`${host.name} cannot be removed: ${status} ${text}`)
    await host.destroy()
    await this.#startHost()
  }

  /** All hosts take sandboxes again. @returns the hosts before */
  async uncordon(): Promise<{ readonly id: string; readonly state: string }[]> {
    const hosts = await this.#hosts()
    for (const { id, state } of hosts)
      if (['cordoned', 'draining'].includes(state)) await this.askAsOperator('POST', `/v1/admin/hosts/${id}/uncordon`)
    return hosts
  }

  async #hosts(): Promise<{ id: string; state: string }[]> {
    const { status, body, text } = await this.askAsOperator('GET', '/v1/admin/hosts')
    if (status !== 200) throw new Error(`the list of hosts answered ${status}: ${text}`)
    return body as { id: string; state: string }[]
  }

  async destroy(): Promise<void> {
    const ends = [
      ...this.hosts.map((host) => () => host.destroy()),
      ...this.services.map((service) => () => service.end()),
      ...this.companions.map((companion) => () => companion.destroy()),
      () => this.rows?.end(),
      () => this.#database?.destroy(),
      ...this.#balancers.map((balancer) => () => balancer.stop()),
      () => this.writers?.stop(),
      () => this.network.destroy(),
    ]
    const failures: unknown[] = []
    for (const end of ends) await Promise.resolve(end()).catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw new AggregateError(failures, 'not everything has ended')
    if (process.env['OFFSHOOT_FLEET_KEEP'] === undefined) await rm(this.folder, { recursive: true })
  }

  async #call(method: string, path: string, key: string, body?: object): Promise<Answer> {
    const request: Call = {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(body !== undefined && { body }),
    }
    return call(method, `http://${this.network.address}:${PORTS.api}${path}`, request)
  }

  #release(number: number): Release {
    return (number === 1 && this.#options.earlier) || PRESENT
  }

  get #env(): NodeJS.ProcessEnv {
    return { NODE_EXTRA_CA_CERTS: certificateFiles(this.folder).authority }
  }

  get #publicUrl(): string {
    return `https://${Network.api}:${PORTS.tls}`
  }

  async #startDatabase(): Promise<DatabaseService> {
    const folder = join(this.folder, 'database')
    const { database, diskBytes } = this.#options
    if (database !== undefined) return database(this, folder)
    return PostgresServer.start({ machine: await this.machine(), folder, diskBytes })
  }

  async #controlConfig(folder: string) {
    const { address } = this.network
    const dataDir = join(folder, 'data')
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    await writeFile(join(dataDir, 'accounts-secret'), this.#secrets.accounts, { mode: 0o600 })
    return {
      listen: { host: '0.0.0.0', port: PORTS.api },
      public_url: this.#publicUrl,
      tls: {
        cert: certificateFiles(this.folder).certificate,
        key: certificateFiles(this.folder).key,
        host: '0.0.0.0',
        port: PORTS.tls,
      },
      database: this.#database.address,
      agents: [],
      edge_secret: this.#secrets.edge,
      gateway_secret: this.#secrets.gateway,
      preview: { scheme: 'http', port: PORTS.edge, suffix: 'localhost' } as const,
      databases: { host: address, port: PORTS.databases, suffix: null },
      operator_key_sha256: createHash('sha256').update(this.#operatorKey).digest('hex'),
      data_dir: dataDir,
      limits: LIMITS,
      lost_after_seconds: 15,
      database_leases: this.#options.hasLeases ?? false,
      commit: 'unknown',
      ...Object.assign({}, ...this.companions.map(({ settings }) => settings)),
    }
  }

  /** Makes the schema and the first user. */
  async #bootstrap(): Promise<void> {
    const folder = join(this.folder, 'bootstrap')
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = await writeConfig(folder, await this.#controlConfig(folder))
    const made = await until('the first user', async () => {
      const done = await execute(process.execPath, [BOOTSTRAP, path]).catch((error: Error) => error)
      if (!(done instanceof Error)) return done.stdout
      if (!done.message.includes('ECONNREFUSED') && !done.message.includes('starting up')) throw done
      return null
    })
    this.#apiKey = (JSON.parse(made) as { api_key: string }).api_key
  }

  #edgeConfig(folder: string) {
    return {
      listen: { host: '0.0.0.0', port: PORTS.edge },
      suffix: 'localhost',
      databases: { listen: { host: '0.0.0.0', port: PORTS.databases }, suffix: null },
      agents: [],
      control: { url: this.#publicUrl, secret: this.#secrets.edge, public_url: this.#publicUrl },
      data_dir: join(folder, 'data'),
    }
  }

  async #startService(kind: 'control' | 'edge', number: number): Promise<Service> {
    const [machine, release] = [await this.machine(), this.#release(number)]
    const folder = join(this.folder, `${kind}-${number}`)
    const config = kind === 'control' ? await this.#controlConfig(folder) : this.#edgeConfig(folder)
    const name = `${kind} ${number}`
    const service = await Service.start({ name, kind, machine, folder, config, env: this.#env, release })
    this.services.push(service)
    return service
  }

  async #startHost(): Promise<void> {
    const { templates, diskBytes } = this.#options
    this.#joined += 1
    const number = this.#joined
    const { body } = await this.askAsOperator('POST', '/v1/admin/hosts/tokens')
    const host = new Host({
      name: `host ${number}`,
      machine: await this.machine(),
      folder: join(this.folder, `host-${number}`),
      templates,
      diskBytes,
      release: this.#release(number),
      env: { ...this.#env, OFFSHOOT_EGRESS_ALLOW: `${this.network.address}/32:${PORTS.writers}` },
    })
    this.hosts.push(host)
    await host.join({ url: this.#publicUrl, token: body.token })
  }

  async #balance(port: number, services: readonly Service[]): Promise<void> {
    const targets = services.map(({ machine }) => ({ host: machine.address, port }))
    const balancer = await Balancer.start({ listen: { host: this.network.address, port }, targets })
    this.#balancers.push(balancer)
    await until(`both at port ${port}`, () => balancer.healthy.length === targets.length, HEALTHY_MS)
  }
}

function randomSecret(): string {
  return randomBytes(32).toString('base64')
}
