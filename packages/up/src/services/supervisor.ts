/**
 * Keeps services running. Each is a process in its own session, restarted with backoff when it dies.
 *
 * A service: idle → running ⇄ waiting for its restart → stopped. When a service fails to start too often in a row,
 * `gaveUp` resolves. The others run until {@link Supervisor.stop} ends them in the given order.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { Backoff } from './backoff.ts'
import { endProcess } from '../base/end-process.ts'
import { boundLog, openLog } from './log-file.ts'
import type { ServiceName } from './running-record.ts'
import { STOPPING } from './stopping.ts'

const LOG_CHECK_MS = 10_000
const READY_CHECK_MS = 100

export interface Service {
  readonly name: ServiceName
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** Returns a program and its arguments that start the service's own command line, at each start. */
  readonly under?: () => Promise<readonly string[]>
  /** Whether this process serves; called every 100 ms until it does. Never rejects. */
  readonly isReady: (pid: number) => Promise<boolean>
}

/**
 * Receives the supervisor's actions. The supervisor awaits `started` before it does anything else with that process.
 */
export interface SupervisorListener {
  started(name: ServiceName, process: ProcessIdentity): Promise<void>
  ended(name: ServiceName): Promise<void>
  restarting(name: ServiceName, how: string, delayMs: number): void
}

export class Supervisor {
  readonly #logs: string
  readonly #listener: SupervisorListener
  readonly #stopping = new AbortController()
  #hurry: AbortSignal | undefined
  readonly #loops = new Map<ServiceName, Promise<void>>()
  readonly #running = new Map<ServiceName, ProcessIdentity>()
  readonly #gaveUp = Promise.withResolvers<ServiceName>()
  readonly #logCheck: NodeJS.Timeout

  constructor(logs: string, listener: SupervisorListener) {
    this.#logs = logs
    this.#listener = listener
    this.#logCheck = setInterval(() => void this.#boundLogs(), LOG_CHECK_MS)
  }

  /** Resolves with the first service that failed to start too often in a row. */
  get gaveUp(): Promise<ServiceName> {
    return this.#gaveUp.promise
  }

  start(service: Service): void {
    if (this.#loops.has(service.name)) throw new Error(`${service.name} is started twice`)
    const loop = this.#keepRunning(service)
    loop.catch((error: unknown) => this.#gaveUp.reject(error))
    this.#loops.set(service.name, loop)
  }

  /** The current process of a service. */
  running(name: ServiceName): ProcessIdentity | undefined {
    return this.#running.get(name)
  }

  /**
   * Ends the services in this order, each within its time limit.
   * @param hurry aborts all waits: services that still run are killed
   */
  async stop(order: readonly ServiceName[], hurry?: AbortSignal): Promise<void> {
    this.#hurry = hurry
    this.#stopping.abort()
    clearInterval(this.#logCheck)
    for (const name of order) {
      const process = this.#running.get(name)
      if (process) await endProcess(process, STOPPING[name].signal, STOPPING[name].withinMs, hurry)
      await this.#loops.get(name)?.catch(() => undefined)
    }
  }

  async #keepRunning(service: Service): Promise<void> {
    const backoff = new Backoff()
    while (!this.#stopping.signal.aborted) {
      const startedAtMs = performance.now()
      const { how, wasReady } = await this.#runOnce(service)
      if (this.#stopping.signal.aborted) return
      const delayMs = backoff.afterDeath({ ranMs: performance.now() - startedAtMs, wasReady })
      if (delayMs === null) return this.#gaveUp.resolve(service.name)
      this.#listener.restarting(service.name, how, delayMs)
      await delay(delayMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
    }
  }

  /** @returns how it ended, as text, and whether it was ever ready */
  async #runOnce(service: Service): Promise<{ how: string; wasReady: boolean }> {
    const log = await openLog(this.#logPath(service.name))
    const under = await service.under?.().catch((error: Error) => error)
    if (under instanceof Error) {
      await log.close()
      return { how: under.message, wasReady: false }
    }
    const [file = '', ...args] = [...(under ?? []), service.file, ...service.args]
    const child = spawn(file, args, {
      cwd: service.cwd,
      env: { ...process.env, ...service.env },
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    })
    // Subscribed first, because a missing program emits its error at once.
    const exited = once(child, 'exit').then(
      ([code, signal]: (number | string | null)[]) => (signal === null ? `exit code ${code}` : `${signal}`),
      (error: Error) => error.message,
    )
    await log.close()
    const ended = new AbortController()
    void exited.then(() => ended.abort())
    await this.#recordStart(service.name, child.pid)
    const wasReady = becomesReady(service, child.pid, ended.signal)
    const how = await exited
    this.#running.delete(service.name)
    await this.#listener.ended(service.name)
    return { how, wasReady: await wasReady }
  }

  async #recordStart(name: ServiceName, pid: number | undefined): Promise<void> {
    const identity = pid === undefined ? null : await identifyProcess(pid)
    if (identity === null) return // it has already ended, which `exit` reports
    this.#running.set(name, identity)
    await this.#listener.started(name, identity)
    // The stop was requested during the start, so it did not see this process.
    if (this.#stopping.signal.aborted)
      await endProcess(identity, STOPPING[name].signal, STOPPING[name].withinMs, this.#hurry)
  }

  async #boundLogs(): Promise<void> {
    await Promise.all([...this.#loops.keys()].map((name) => boundLog(this.#logPath(name))))
  }

  #logPath(name: ServiceName): string {
    return join(this.#logs, `${name}.log`)
  }
}

/** @returns at the latest when the process ends */
async function becomesReady({ isReady }: Service, pid: number | undefined, ended: AbortSignal): Promise<boolean> {
  if (pid === undefined) return false
  while (!ended.aborted) {
    if (await isReady(pid)) return true
    await delay(READY_CHECK_MS, undefined, { signal: ended }).catch(() => undefined)
  }
  return false
}
