import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { findVmProcesses } from '@offshoot/agent/machine/host/find-vm-processes'
import { type ProcessIdentity, identifyProcess } from '@offshoot/kit/process-identity'
import { isListening } from '@offshoot/up/host/is-listening'
import { type Answer, type Call, call } from './http.ts'
import { layOutFromSeed } from './seed.ts'
import { until } from './until.ts'

const repository = resolve(import.meta.dirname, '../..')
export const imagesDir = resolve(process.env['OFFSHOOT_IMAGES_DIR'] ?? join(repository, '.offshoot/images'))

/** A Unix socket's path holds 107 bytes. Users may have deeper data directories, so tests use one. */
export const LONG = 'in-a-folder-whose-path-is-longer-than-that-of-a-unix-socket-can-be'.repeat(2)

/** Tests and benchmarks send more requests than the default limit allows. */
const NO_RATE_LIMIT = '1000000/1000000'

export interface Credentials {
  readonly base_url: string
  readonly api_key: string
  readonly jwt: string
  readonly operator_key: string
  readonly email: string
  readonly password: string
  readonly edge_url: string
  readonly preview_suffix: string
  readonly e2b_api_key: string
  readonly e2b_api_url: string
  readonly e2b_sandbox_url: string
  readonly e2b_domain: string
  readonly ssh_host: string
  readonly ssh_port: number
}

interface RunningServices {
  readonly services: Record<string, { readonly pid: number } | undefined>
  readonly agent_port: number
}

export interface StartOptions {
  /** Templates to bake and offer; `null`: all. Fewer templates save seconds. */
  readonly templates?:
    | readonly ('minimal' | 'base' | 'app' | 'code-interpreter' | 'postgres-16' | 'postgres-16-16g')[]
    | null
  /** Builds images in the data directory instead of using the shared ones. */
  readonly ownImages?: boolean
  readonly port?: number
  /** By default there is no warm pool, which would take CPU time from the test. */
  readonly env?: Record<string, string>
  /** Additional arguments of `bin/up`. */
  readonly args?: readonly string[]
  /** A program and its arguments that start `bin/up`; its command line is appended. */
  readonly under?: readonly string[]
  /** Images other than those that tests share. */
  readonly imagesDir?: string
  /** Milliseconds until `bin/up` is ready. */
  readonly readyMs?: number
  /** The operator's `settings.json`. */
  readonly settings?: Readonly<Record<string, unknown>>
}

/** The whole service in its own data directory, started by `bin/up`. */
export class Offshoot {
  readonly dataDir: string
  readonly #options: StartOptions
  #up: ChildProcess | null = null
  #credentials: Credentials | null = null

  private constructor(dataDir: string, options: StartOptions) {
    this.dataDir = dataDir
    this.#options = options
  }

  /** A new, empty data directory; `name` appears in its path. */
  static prepare(name: string, options: StartOptions = {}): Offshoot {
    return new Offshoot(join(repository, '.offshoot/tests', `${name}-${process.pid}`), options)
  }

  /** A data directory at this path, which is empty or was used before. */
  static at(dataDir: string, options: StartOptions = {}): Offshoot {
    return new Offshoot(dataDir, options)
  }

  /** Starts a server in a copy of a prepared data directory (`seed.ts`). */
  static async start(name: string, options: StartOptions = {}): Promise<Offshoot> {
    return Offshoot.#startFromSeed(Offshoot.prepare(`${LONG}-${name}`, options))
  }

  /** The same in a given data directory. */
  static async startAt(dataDir: string, options: StartOptions = {}): Promise<Offshoot> {
    return Offshoot.#startFromSeed(new Offshoot(dataDir, options))
  }

  static async #startFromSeed(offshoot: Offshoot): Promise<Offshoot> {
    const { templates = ['minimal'], settings } = offshoot.#options
    await layOutFromSeed(offshoot.dataDir, imagesDir, templates)
    if (settings !== undefined) await writeFile(join(offshoot.dataDir, 'settings.json'), JSON.stringify(settings))
    await offshoot.up()
    const { output } = offshoot
    if (!output.includes('baking template')) return offshoot
    await offshoot.destroy()
    throw new Error(`not prepared:\n${output}`)
  }

  /** Starts a server in an empty data directory, as at a user's first start. */
  static async startFirst(name: string, options: StartOptions = {}): Promise<Offshoot> {
    const offshoot = Offshoot.prepare(`${LONG}-${name}`, options)
    await offshoot.up()
    return offshoot
  }

  /** Uses a server that another process starts and ends. */
  static async attach(dataDir: string): Promise<Offshoot> {
    const offshoot = new Offshoot(dataDir, {})
    await offshoot.#readCredentials()
    return offshoot
  }

  /** Runs `bin/up` and waits for its `ready` line. */
  async up(): Promise<void> {
    const { templates = ['minimal'], port = 0, env = {}, args = [], under = [] } = this.#options
    const line = ['--data-dir', this.dataDir, ...this.#imagesArguments, '--port', String(port), '--yes', ...args]
    const [program = '', ...rest] = [...under, join(repository, 'bin/up'), ...line]
    await mkdir(dirname(this.dataDir), { recursive: true, mode: 0o711 })
    // A file instead of a pipe, because the services may outlive this process.
    const output = openSync(this.#outputPath, 'w', 0o600)
    const child = spawn(program, rest, {
      env: {
        ...process.env,
        OFFSHOOT_POOL_MIB: '0',
        OFFSHOOT_RATE_LIMIT: NO_RATE_LIMIT,
        ...(templates ? { OFFSHOOT_TEMPLATES: templates.join(',') } : {}),
        ...env,
      },
      stdio: ['ignore', output, output],
      detached: true,
    })
    closeSync(output)
    this.#up = child
    await until(
      'bin/up printing ready',
      () => {
        if (child.exitCode !== null) throw new Error(`bin/up exited with ${child.exitCode}:\n${this.output}`)
        return /^ready http/m.test(this.output)
      },
      this.#options.readyMs ?? 300_000,
    )
    await this.#readCredentials()
  }

  async #readCredentials(): Promise<void> {
    this.#credentials = JSON.parse(await readFile(join(this.dataDir, 'credentials.json'), 'utf8')) as Credentials
  }

  get #imagesArguments(): string[] {
    return this.#options.ownImages ? [] : ['--images-dir', this.#options.imagesDir ?? imagesDir]
  }

  /** Output of `bin/up` since its last start. */
  get output(): string {
    return readFileSync(this.#outputPath, 'utf8')
  }

  get #outputPath(): string {
    return `${this.dataDir}.output`
  }

  get credentials(): Credentials {
    if (this.#credentials === null) throw new Error('not started')
    return this.#credentials
  }

  /** Sends a request with the API key, unless `headers.authorization` is set. */
  async request(method: string, path: string, { headers = {}, ...rest }: Call = {}): Promise<Answer> {
    const authorization = `Bearer ${this.credentials.api_key}`
    return call(method, this.credentials.base_url + path, { headers: { authorization, ...headers }, ...rest })
  }

  /** Creates a sandbox; throws if that fails. */
  async create(
    body: Record<string, unknown> = { template: 'minimal' },
  ): Promise<{ id: string; [field: string]: unknown }> {
    const answer = await this.request('POST', '/v1/sandboxes', { body })
    if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${answer.text}`)
    return answer.body
  }

  /** Runs a command; throws unless the answer is 200. */
  async exec(
    id: string,
    cmd: string,
    options: Record<string, unknown> = {},
  ): Promise<{ stdout: string; stderr: string; exit_code: number }> {
    const answer = await this.request('POST', `/v1/sandboxes/${id}/exec`, { body: { cmd, ...options } })
    if (answer.status !== 200) throw new Error(`exec answered ${answer.status}: ${answer.text}`)
    return answer.body
  }

  async delete(id: string): Promise<void> {
    const answer = await this.request('DELETE', `/v1/sandboxes/${id}`)
    if (answer.status !== 204) throw new Error(`delete answered ${answer.status}: ${answer.text}`)
  }

  /** The live process of a service, from the supervisor's record. */
  async service(name: 'control' | 'agent' | 'postgres' | 'edge' | 'e2b'): Promise<ProcessIdentity | null> {
    const recorded = (await this.#running()).services[name]
    return recorded ? identifyProcess(recorded.pid) : null
  }

  /** The supervisor's record of its services. */
  async #running(): Promise<RunningServices> {
    return JSON.parse(await readFile(join(this.dataDir, 'up.json'), 'utf8')) as RunningServices
  }

  /** The log of a service. */
  async log(name: 'control' | 'agent' | 'edge' | 'e2b'): Promise<string> {
    return readFile(join(this.dataDir, `logs/${name}.log`), 'utf8')
  }

  /** Kills a service with SIGKILL. Returns when the supervisor has started another one that answers. */
  async killService(name: 'control' | 'agent' | 'postgres' | 'edge' | 'e2b'): Promise<void> {
    const before = await until(`${name} running`, () => this.service(name))
    process.kill(before.pid, 'SIGKILL')
    await until(`${name} restarted`, async () => {
      const now = await this.service(name)
      if (now === null || now.pid === before.pid) return false
      // Until the new agent listens, control may still take the dead one for reachable.
      return name !== 'agent' || isListening(now.pid, (await this.#running()).agent_port)
    })
    await this.healthy()
  }

  async healthy(): Promise<void> {
    await until(
      'every part healthy',
      async () => {
        const answer = await call('GET', `${this.credentials.base_url}/healthz`).catch(() => null)
        return answer?.status === 200 && answer.body.checks.agents === 'ok'
      },
      60_000,
    )
  }

  /** QEMU processes whose working directory is a sandbox folder of this data directory. */
  async virtualMachines(): Promise<{ pid: number; sandboxId: string }[]> {
    return (await this.#machinesIn('agent/sandboxes')).map(({ pid, name }) => ({ pid, sandboxId: name }))
  }

  /** QEMU processes of the warm pool, with the names of their folders. */
  async spareMachines(): Promise<{ pid: number; name: string }[]> {
    return this.#machinesIn('agent/spares')
  }

  async #machinesIn(folder: string): Promise<{ pid: number; name: string }[]> {
    const place = join(this.dataDir, folder)
    const found: { pid: number; name: string }[] = []
    for (const { process: machine, folder: cwd } of await findVmProcesses(this.dataDir)) {
      if (!cwd.startsWith(`${place}/`)) continue
      found.push({ pid: machine.pid, name: cwd.slice(place.length + 1).split('/')[0] ?? '' })
    }
    return found
  }

  /** Names of the sandbox folders. */
  async folders(): Promise<string[]> {
    return readdir(join(this.dataDir, 'agent/sandboxes')).catch(() => [])
  }

  /** Sends SIGINT to `bin/up` and waits for its end. */
  async stop(): Promise<number | null> {
    const child = this.#up
    if (child === null || child.exitCode !== null) return child?.exitCode ?? null
    child.kill('SIGINT')
    await once(child, 'exit')
    return child.exitCode
  }

  /** Runs `bin/up --down`, which ends the services and every VM. */
  async down(): Promise<void> {
    const { under = [], env = {} } = this.#options
    const line = [join(repository, 'bin/up'), '--data-dir', this.dataDir, ...this.#imagesArguments, '--down']
    const [program = '', ...args] = [...under, ...line]
    const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } })
    await once(child, 'exit')
    if (child.exitCode !== 0) throw new Error(`bin/up --down exited with ${child.exitCode}`)
  }

  /** Ends everything and removes the data directory; fails if a VM is left. */
  async destroy(): Promise<void> {
    await this.down()
    const left = [...(await this.virtualMachines()), ...(await this.spareMachines())]
    if (left.length > 0) throw new Error(`VMs left behind: ${JSON.stringify(left)}`)
    await rm(this.dataDir, { recursive: true, force: true })
    await rm(this.#outputPath, { force: true })
  }
}
