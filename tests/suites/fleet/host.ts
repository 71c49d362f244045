import { cp, mkdir, readdir, readFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findVmProcesses } from '@offshoot/agent/machine/host/find-vm-processes'
import { canMountDisk, SmallDisk } from '@offshoot/agent/test/small-disk'
import { dataLayout } from '@offshoot/up/base/data-layout'
import { hostFiles } from '@offshoot/up/join/membership'
import { imagesDir } from '../../setup/offshoot.ts'
import { layOutAgentFromSeed } from '../../setup/seed.ts'
import { until } from '../../setup/until.ts'
import { accepts } from './balancer.ts'
import { clockFaults, diskFaults, type Fault, type Member, networkFaults } from './member.ts'
import type { Machine } from './network.ts'
import { killAll, Program } from './program.ts'
import type { Release } from './release.ts'

const AGENT_PORT = 7443
const READY_MS = 300_000

export interface HostOptions {
  readonly name: string
  readonly machine: Machine
  /** An absent folder for its data directory and its output. */
  readonly folder: string
  readonly templates: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly release: Release
  /** Size of a disk of its own; `null`: it shares the tests' disk. */
  readonly diskBytes: number | null
}

/** A machine that has joined the fleet, with an agent and its VMs. */
export class Host implements Member {
  readonly name: string
  readonly machine: Machine
  readonly dataDir: string
  id = ''
  readonly #up: Program
  readonly #output: string
  readonly #options: HostOptions
  #disk: SmallDisk | null = null

  constructor(options: HostOptions) {
    const { name, machine, folder, env, templates, release } = options
    this.#options = options
    this.name = name
    this.machine = machine
    this.dataDir = join(folder, 'data')
    this.#output = join(folder, 'up.log')
    const line = [release.up, '--data-dir', this.dataDir, '--images-dir', release.images, '--yes']
    const always = { OFFSHOOT_POOL_MIB: '0', OFFSHOOT_TEMPLATES: templates.join(','), ...env }
    this.#up = new Program({ machine, line, env: always, log: this.#output })
  }

  /** @param join address of control, and a token */
  async join({ url, token }: { readonly url: string; readonly token: string }): Promise<void> {
    await mkdir(this.dataDir, { recursive: true, mode: 0o711 })
    const { diskBytes, templates } = this.#options
    if (diskBytes !== null && canMountDisk) this.#disk = await SmallDisk.mount(this.dataDir, diskBytes)
    await layOutAgentFromSeed(this.dataDir, imagesDir, templates)
    this.#up.start({}, ['--join', url, '--token', token])
    await until(`${this.name} to be ready`, () => this.#isReady(), READY_MS)
    const { record } = hostFiles(dataLayout(this.dataDir, '/'))
    this.id = (JSON.parse(await readFile(record, 'utf8')) as { host_id: string }).host_id
  }

  #isReady(): boolean {
    const output = readFileSync(this.#output, 'utf8')
    if (!this.#up.isRunning) throw new Error(`${this.name} does not start:\n${output}`)
    return output.includes('ready https')
  }

  get faults(): readonly Fault[] {
    return [
      { name: 'kill -9 of the agent', begin: () => this.#signalAgent('SIGKILL'), heal: () => this.#revive() },
      this.stoppedAgent,
      { name: 'power loss', endsMachines: true, begin: () => this.cutPower(), heal: () => this.#revive() },
      ...networkFaults(this.machine),
      ...clockFaults(async (env) => {
        await this.#up.end('SIGTERM')
        this.#up.start(env)
      }),
      ...(this.#disk === null ? [] : diskFaults(this.#disk, this.dataDir)),
    ]
  }

  get stoppedAgent(): Fault {
    const signal = (name: NodeJS.Signals) => () => this.#signalAgent(name)
    return { name: 'agent stopped', begin: signal('SIGSTOP'), heal: signal('SIGCONT') }
  }

  async #signalAgent(signal: NodeJS.Signals): Promise<void> {
    process.kill(await this.#agentPid(), signal)
  }

  /** Kills everything on the machine. Its disk stays as it is. */
  async cutPower(): Promise<void> {
    await this.#up.end()
    await killAll(this.name, () => this.#processes())
  }

  async #revive(): Promise<void> {
    if (!this.#up.isRunning) this.#up.start()
  }

  /** Also after a fault that bin/up has not survived. */
  async ensureRunning(): Promise<void> {
    await this.#revive()
    await until(`the agent of ${this.name}`, () => this.#listens(), READY_MS)
  }

  async #listens(): Promise<boolean> {
    return accepts({ host: this.machine.address, port: AGENT_PORT }).catch(() => false)
  }

  async #agentPid(): Promise<number> {
    const record = JSON.parse(await readFile(join(this.dataDir, 'up.json'), 'utf8')) as {
      services: { agent?: { pid: number } }
    }
    return record.services.agent?.pid ?? Number.NaN
  }

  /** The agent, every QEMU, and their helpers. */
  async #processes(): Promise<number[]> {
    const config = join(this.dataDir, 'config/agent.json')
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const agents = await Promise.all(
      pids.map(async (pid) => {
        const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
        return line.split('\0').includes(config) ? [Number(pid)] : []
      }),
    )
    const machines = await findVmProcesses(this.dataDir)
    const helpers = machines.flatMap(({ process: qemu, launcher }) => [qemu.pid, ...(launcher ? [launcher.pid] : [])])
    return [...agents.flat(), ...helpers]
  }

  /** What is there after everything has been deleted, and must not be. */
  async leftovers(): Promise<string[]> {
    const folders = ['sandboxes', 'spares', 'snapshots', 'layers', 'volumes', 'quarantine']
    const entries = folders.map(async (name) => {
      const found = await readdir(join(this.dataDir, 'agent', name)).catch(() => [])
      return found.map((entry) => `${this.name}: ${name}/${entry}`)
    })
    const machines = (await findVmProcesses(this.dataDir)).map(({ folder }) => `${this.name}: QEMU in ${folder}`)
    const groups = ['', 'memory', 'pids'].map(async (name) => {
      const found = await readdir(join('/sys/fs/cgroup', name, 'offshoot')).catch(() => [])
      return found.filter((entry) => entry.startsWith(`${this.id}-`)).map((entry) => `${this.name}: group ${entry}`)
    })
    return [...(await Promise.all([...entries, ...groups])).flat(), ...machines]
  }

  async destroy(): Promise<void> {
    await this.#up.end('SIGTERM')
    if ((await this.leftovers()).length > 0) await this.#endAll()
    // A disk of its own is gone afterwards.
    await cp(join(this.dataDir, 'logs'), join(this.#options.folder, 'logs'), { recursive: true })
    await this.#disk?.unmount()
  }

  async #endAll(): Promise<void> {
    const line = [this.#options.release.up, '--down', '--data-dir', this.dataDir]
    const down = new Program({ machine: this.machine, line, log: this.#output })
    down.start()
    await until(`bin/up --down of ${this.name}`, () => !down.isRunning)
  }
}
