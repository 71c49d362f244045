/** Control and edges as programs with one configuration file each, as a scheduler runs them (docs/kubernetes.md). */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { NODE_OPTIONS } from '@offshoot/up/base/node-options'
import { bundledProgram } from '@offshoot/up/images/services'
import { clockFaults, type Fault, type Member, networkFaults, processFaults } from './member.ts'
import type { Machine } from './network.ts'
import { Program } from './program.ts'
import type { Release } from './release.ts'

export interface ServiceOptions {
  readonly name: string
  readonly kind: 'control' | 'edge'
  readonly machine: Machine
  /** Has the configuration and the log. */
  readonly folder: string
  readonly config: object
  readonly env: NodeJS.ProcessEnv
  readonly release: Release
}

/** A process of control, or an edge. */
export class Service implements Member {
  readonly name: string
  readonly machine: Machine
  readonly faults: readonly Fault[]
  readonly #program: Program

  private constructor(name: string, machine: Machine, program: Program) {
    this.name = name
    this.machine = machine
    this.#program = program
    this.faults = [
      ...processFaults(program),
      ...networkFaults(machine),
      ...clockFaults(async (env) => {
        await program.end('SIGTERM')
        program.start(env)
      }),
    ]
  }

  static async start(options: ServiceOptions): Promise<Service> {
    const { name, kind, machine, folder, config, env, release } = options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = await writeConfig(folder, config)
    const line = [process.execPath, ...NODE_OPTIONS, bundledProgram(release.images, kind), path]
    const program = new Program({ machine, line, env, log: join(folder, 'log') })
    program.start()
    return new Service(name, machine, program)
  }

  async ensureRunning(): Promise<void> {
    if (!this.#program.isRunning) this.#program.start()
  }

  async end(): Promise<void> {
    await this.#program.end('SIGTERM')
  }
}

export async function writeConfig(folder: string, config: object): Promise<string> {
  const path = join(folder, 'config.json')
  await writeFile(path, JSON.stringify(config), { mode: 0o600 })
  return path
}
