import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { AgentFork, AgentRecord, AgentSandbox, AgentSandboxList } from '@offshoot/contract/agent-api'
import type { AgentConfigFile } from '@offshoot/contract/process-config'
import { Deadline } from '@offshoot/kit/deadline'
import { findFreePort } from '@offshoot/kit/free-port'
import { SignJWT } from 'jose'
import { findVmProcesses } from '../machine/host/find-vm-processes.ts'
import { PROGRAMS, type Program } from './agent-programs.ts'
import { pauseAfter } from './pause.ts'
import { readRecords } from './read-records.ts'
import { shareBakes } from './shared-bakes.ts'

export const WORKSPACE = '11111111-1111-4111-8111-111111111111'
export const OTHER_WORKSPACE = '22222222-2222-4222-8222-222222222222'

export interface Answer<Body> {
  readonly status: number
  readonly body: Body
  readonly headers: Headers
}

/** Polls a condition until it returns a value. @throws DeadlineExceeded */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | false | null | undefined>,
  withinMs = 60_000,
): Promise<T> {
  const deadline = Deadline.after(withinMs, what)
  for (;;) {
    const value = await condition()
    if (value !== false && value !== null && value !== undefined) return value
    deadline.throwIfOver()
    await wait(pauseAfter(withinMs - deadline.remainingMs))
  }
}

type Chosen = 'images_dir' | 'templates' | 'pool_memory_mib' | 'zygotes' | 'commit_limit_mib' | 'disk' | 'network'
/** Fields of the agent's configuration that tests may set. */
export type AgentOptions = Partial<Pick<AgentConfigFile, Chosen | 'leases'>>

export interface AgentPlace {
  /** The address on which the agent listens. */
  readonly host: string
  readonly under: readonly string[]
}

type AgentListen = Pick<AgentPlace, 'host'> & { readonly port: number }

/** A real agent process with a data directory of its own, which tests can kill and restart. */
export class AgentProcess {
  readonly folder: string
  /** A command line that wraps the agent's programs, for another network namespace or fewer capabilities. */
  readonly #under: readonly string[]
  readonly dataDir: string
  readonly configPath: string
  readonly #secret: Uint8Array
  readonly #base: string
  #child: ChildProcess | undefined
  #log = ''

  private constructor(folder: string, secret: Uint8Array, { host, port }: AgentListen, under: readonly string[]) {
    this.folder = folder
    this.#under = under
    this.dataDir = join(folder, 'agent')
    this.configPath = join(folder, `agent-${port}.json`)
    this.#secret = secret
    this.#base = `http://${host}:${port}`
  }

  /**
   * @param folder to share with another agent; if absent, a new folder that already contains bakes
   * @param options by default without a warm pool, so that every VM belongs to a sandbox
   */
  static async create(
    folder?: string,
    options: AgentOptions = {},
    { host, under }: AgentPlace = { host: '127.0.0.1', under: [] },
  ): Promise<AgentProcess> {
    const imagesDir = options.images_dir ?? process.env['OFFSHOOT_IMAGES_DIR']
    if (imagesDir === undefined) throw new Error('OFFSHOOT_IMAGES_DIR must name the built images')
    const place = folder ?? (await realpath(await mkdtemp(join(tmpdir(), 'offshoot-agent-'))))
    const secret = randomBytes(32)
    const port = await findFreePort()
    const agent = new AgentProcess(place, secret, { host, port }, under)
    const config = {
      data_dir: agent.dataDir,
      images_dir: imagesDir,
      listen: { host, port },
      secret: secret.toString('base64'),
      templates: ['minimal'],
      log_level: 'debug',
      pool_memory_mib: 0,
      ...options,
    }
    await writeFile(agent.configPath, JSON.stringify(config))
    // Not for the caller's folder, which may be on another file system (no hard links), nor for other images.
    if (folder === undefined && options.images_dir === undefined)
      await shareBakes(`agent-${config.templates?.join()}`, agent.dataDir, () => agent.prepare())
    return agent
  }

  /** The output of the agent so far. */
  get log(): string {
    return this.#log
  }

  get url(): string {
    return this.#base
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('the agent does not run')
    return this.#child.pid
  }

  /** Runs one of the agent's programs to its end. */
  async run(program: Program): Promise<{ exitCode: number; output: string }> {
    const child = this.#spawn(program)
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [exitCode] = (await once(child, 'close')) as [number]
    return { exitCode, output }
  }

  /** Bakes its templates. @throws Error with the output if that fails */
  async prepare(): Promise<void> {
    const { exitCode, output } = await this.run('prepare.ts')
    if (exitCode !== 0) throw new Error(output)
  }

  async start(): Promise<void> {
    const child = this.#spawn('main.ts')
    this.#child = child
    this.#log = ''
    child.stdout.on('data', (chunk: Buffer) => (this.#log += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (this.#log += chunk.toString()))
    await Promise.race([
      eventually('agent ready', async () => this.#log.includes('agent ready')),
      once(child, 'exit').then(() => Promise.reject(new Error(`agent ended: ${this.#log}`))),
    ])
  }

  /** Takes effect at the next start. */
  async configure(options: AgentOptions): Promise<void> {
    const config = JSON.parse(await readFile(this.configPath, 'utf8')) as object
    await writeFile(this.configPath, JSON.stringify({ ...config, ...options }))
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  #spawn(program: Program) {
    const command = [process.execPath, PROGRAMS[program], this.configPath]
    // env(1) runs the command unchanged if there is no wrapper.
    return spawn('env', [...this.#under, ...command], { stdio: ['ignore', 'pipe', 'pipe'] })
  }

  /** Kills the agent and its VMs, and deletes its data, except its bakes. What is left of the VMs the next start cleans up. */
  async reset(): Promise<void> {
    await this.#kill()
    const left = 'sandboxes spares events snapshots layers retired-layers volumes builds templates trash quarantine'
    for (const name of left.split(' ')) await rm(join(this.dataDir, name), { recursive: true, force: true })
  }

  /** Kills the agent and its VMs, and deletes its data. */
  async destroy(): Promise<void> {
    await this.#kill()
    // Removes cgroups, TAPs and packet filter tables.
    await this.run('end-all.ts')
    await rm(this.folder, { recursive: true, force: true })
  }

  async #kill(): Promise<void> {
    await this.stop('SIGKILL')
    for (const { process: vm } of await this.vms()) process.kill(vm.pid, 'SIGKILL')
    await eventually('every QEMU gone', async () => (await this.vms()).length === 0)
  }

  async call<Body>(
    method: string,
    path: string,
    options: { body?: unknown; workspace?: string | null; signal?: AbortSignal; headers?: Record<string, string> } = {},
  ): Promise<Answer<Body>> {
    const { body, workspace = WORKSPACE, signal } = options
    const authorization = `Bearer ${await this.token(workspace)}`
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await fetch(this.#base + path, {
      method,
      headers: { authorization, ...type, ...options.headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    const text = await response.text()
    const parsed = (text === '' ? null : JSON.parse(text)) as Body
    return { status: response.status, body: parsed, headers: response.headers }
  }

  /** A response whose body the test reads as a stream. */
  async open(path: string, signal: AbortSignal): Promise<Response> {
    const authorization = `Bearer ${await this.token(null)}`
    return fetch(this.#base + path, { headers: { authorization }, signal })
  }

  async token(workspace: string | null, secret: Uint8Array = this.#secret): Promise<string> {
    const claims = workspace === null ? {} : { workspace_id: workspace }
    return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('60s').sign(secret)
  }

  create(
    id: string = randomUUID(),
    env: Record<string, string> = {},
    template = 'minimal',
  ): Promise<Answer<AgentSandbox>> {
    return this.call('POST', '/v1/sandboxes', { body: { id, template, env } })
  }

  /** Creates a sandbox. @throws Error if that fails */
  async created(env: Record<string, string> = {}, template?: string): Promise<AgentSandbox> {
    const { status, body } = await this.create(undefined, env, template)
    if (status !== 201) throw new Error(`create answered ${status}: ${JSON.stringify(body)}\n${this.#log}`)
    return body
  }

  exec<Body = { stdout: string; stderr: string; exit_code: number }>(
    id: string,
    body: unknown,
    signal?: AbortSignal,
  ): Promise<Answer<Body>> {
    return this.call('POST', `/v1/sandboxes/${id}/exec`, signal ? { body, signal } : { body })
  }

  /** Calls an operation of a sandbox, such as `pause`. */
  act<Body = AgentSandbox>(id: string, what: string, body?: unknown): Promise<Answer<Body>> {
    return this.call('POST', `/v1/sandboxes/${id}/${what}`, body === undefined ? {} : { body })
  }

  /** The trimmed output of a command. @throws Error if it could not run */
  async sh(id: string, cmd: string): Promise<string> {
    const { status, body } = await this.exec(id, { cmd })
    if (status !== 200) throw new Error(`exec answered ${status}: ${JSON.stringify(body)}\n${this.#log.slice(-4000)}`)
    return body.stdout.trim()
  }

  /** Forks a sandbox. @throws Error unless all children were created */
  async forked(id: string, count = 1, treeId?: string): Promise<AgentFork> {
    const children = Array.from({ length: count }, (_unused, index) => ({ id: randomUUID(), index }))
    const body = { snapshot_id: randomUUID(), children, ...(treeId === undefined ? {} : { tree_id: treeId }) }
    const answer = await this.act<AgentFork>(id, 'fork', body)
    if (answer.status === 201 && answer.body.children.length === count) return answer.body
    throw new Error(`fork answered ${answer.status}: ${JSON.stringify(answer.body)}\n${this.#log.slice(-4000)}`)
  }

  delete(id: string): Promise<Answer<unknown>> {
    return this.call('DELETE', `/v1/sandboxes/${id}`)
  }

  async list(): Promise<AgentSandboxList> {
    const { body } = await this.call<AgentSandboxList>('GET', '/v1/sandboxes', { workspace: null })
    return body
  }

  /** All records of the event log. */
  records(): Promise<AgentRecord[]> {
    return readRecords(join(this.dataDir, 'events'))
  }

  async events(id: string): Promise<string[]> {
    return (await this.records()).filter(({ event }) => event.sandbox_id === id).map(({ event }) => event.type)
  }

  vms() {
    return findVmProcesses(this.dataDir)
  }

  /** The frozen disk layers on disk. */
  layers(): Promise<string[]> {
    return readdir(join(this.dataDir, 'layers'))
  }

  folders(): Promise<string[]> {
    return readdir(join(this.dataDir, 'sandboxes'))
  }
}
