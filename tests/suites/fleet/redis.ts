import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Fleet, LIMITS } from './fleet.ts'
import { type Companion, type Fault, networkFaults, processFaults } from './member.ts'
import { Program } from './program.ts'

const PROGRAM = '/usr/bin/redis-server'
const PORT = 6379

/** Debian's Redis. */
export const hasRedis = existsSync(PROGRAM)

/** Counts the requests of all processes of control. */
export class Redis implements Companion {
  readonly name = 'Redis'
  readonly settings: object
  readonly faults: readonly Fault[]
  readonly #program: Program

  private constructor(program: Program, address: string, faults: readonly Fault[]) {
    this.#program = program
    this.faults = faults
    this.settings = { limits: { ...LIMITS, redis_url: `redis://${address}:${PORT}` } }
  }

  static async start(fleet: Fleet): Promise<Redis> {
    const machine = await fleet.machine()
    const options = ['--port', String(PORT), '--bind', machine.address, '--protected-mode', 'no', '--save', '']
    const program = new Program({ machine, line: [PROGRAM, ...options], log: join(fleet.folder, 'redis.log') })
    program.start()
    return new Redis(program, machine.address, [...processFaults(program), ...networkFaults(machine)])
  }

  async ensureRunning(): Promise<void> {
    if (!this.#program.isRunning) this.#program.start()
  }

  async destroy(): Promise<void> {
    await this.#program.end()
  }
}
