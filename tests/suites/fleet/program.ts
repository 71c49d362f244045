import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { until } from '../../setup/until.ts'
import type { Machine } from './network.ts'

export interface ProgramOptions {
  readonly machine: Machine
  readonly line: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  /** Its output. */
  readonly log: string
}

/** A program on a machine of the fleet, which a fault may end or stop. */
export class Program {
  readonly #options: ProgramOptions
  #child: ChildProcess | undefined

  constructor(options: ProgramOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    const child = this.#child
    return child !== undefined && child.exitCode === null && child.signalCode === null
  }

  /** @param env further variables of this start. @param more further arguments of it */
  start(env: NodeJS.ProcessEnv = {}, more: readonly string[] = []): void {
    if (this.isRunning) throw new Error(`${this.#options.log} runs already`)
    const { machine, line, log, env: always = {} } = this.#options
    const [program = '', ...args] = machine.running(...line, ...more)
    const output = openSync(log, 'a', 0o600)
    this.#child = spawn(program, args, {
      env: { ...process.env, ...always, ...env },
      stdio: ['ignore', output, output],
      cwd: '/',
      detached: true,
    })
    closeSync(output)
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.#child?.kill(signal)
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.isRunning) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
}

/** Kills all processes that `find` finds, until there are none: one that has just been started begins others. */
export async function killAll(what: string, find: () => Promise<readonly number[]>): Promise<void> {
  const areGone = async () => {
    const left = await find()
    for (const pid of left) kill(pid)
    return left.length === 0
  }
  await until(`the end of ${what}`, areGone)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
