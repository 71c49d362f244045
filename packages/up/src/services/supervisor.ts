/**
 * Keeps services running: each is a process in a session of its own, started again when it dies, with a back-off, until it is given up.
 *
 * A service: idle → running ⇄ waiting to be started again → stopped. `gaveUp` settles when one of them could not start too often in a row; the others
 * go on until {@link Supervisor.stop}, which ends them in the order given to it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { Backoff } from './backoff.ts'
import { endProcess } from './end-process.ts'
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
  /** Whether this process of it serves by now; asked every 100 ms until it does. Never rejects. */
  readonly isReady: (pid: number) => Promise<boolean>
}

/** Hears of what the supervisor does. `started` is waited for before anything else happens to that process. */
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

  /** The first service that could not start too often in a row. */
  get gaveUp(): Promise<ServiceName> {
    return this.#gaveUp.promise
  }

  start(service: Service): void {
    if (this.#loops.has(service.name)) throw new Error(`${service.name} is started twice`)
    const loop = this.#keepRunning(service)
    loop.catch((error: unknown) => this.#gaveUp.reject(error))
    this.#loops.set(service.name, loop)
  }

  /** The process of a service at this moment. */
  running(name: ServiceName): ProcessIdentity | undefined {
    return this.#running.get(name)
  }

  /**
   * Ends the services in this order, each given its time to do so.
   * @param hurry cuts all waits short: what still runs is killed
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

  /** @returns how it ended, for people, and whether it had served */
  async #runOnce(service: Service): Promise<{ how: string; wasReady: boolean }> {
    const log = await openLog(this.#logPath(service.name))
    const child = spawn(service.file, service.args, {
      cwd: service.cwd,
      env: { ...process.env, ...service.env },
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    })
    // Heard from the first moment on: a program that is not there tells so at once.
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
    if (identity === null) return // it is dead already, which `exit` tells
    this.#running.set(name, identity)
    await this.#listener.started(name, identity)
    // Asked to stop while it was being started: whoever stops did not know of it.
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

/** @returns at the end of the process at the latest */
async function becomesReady({ isReady }: Service, pid: number | undefined, ended: AbortSignal): Promise<boolean> {
  if (pid === undefined) return false
  while (!ended.aborted) {
    if (await isReady(pid)) return true
    await delay(READY_CHECK_MS, undefined, { signal: ended }).catch(() => undefined)
  }
  return false
}
