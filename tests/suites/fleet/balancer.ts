import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export interface Target {
  readonly host: string
  readonly port: number
}

export interface BalancerOptions {
  readonly listen: Target
  readonly targets: readonly Target[]
  /** Whether a target may get connections. Default: it accepts one. */
  readonly isHealthy?: (target: Target) => Promise<boolean>
}

const CHECK_MS = 1_000
const CONNECT_MS = 1_000

/**
 * A TCP balancer, as an operator has in front of several processes. It gives connections to each healthy target in turn,
 * and ends those of a target that is not healthy any more.
 */
export class Balancer {
  readonly #options: BalancerOptions
  readonly #server: Server
  readonly #pairs = new Set<{ readonly caller: Socket; readonly inside: Socket; readonly target: Target }>()
  #healthy: Target[] = []
  #turn = 0
  readonly #stopped = new AbortController()
  /** Milliseconds by which each piece is late. */
  delayMs = 0

  private constructor(options: BalancerOptions) {
    this.#options = options
    this.#server = createServer((caller) => this.#accept(caller))
  }

  static async start(options: BalancerOptions): Promise<Balancer> {
    const balancer = new Balancer(options)
    await once(balancer.#server.listen(options.listen), 'listening')
    void balancer.#keepChecking()
    return balancer
  }

  /** Those that get connections. */
  get healthy(): readonly Target[] {
    return this.#healthy
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#server.close()
    for (const { caller, inside } of this.#pairs) for (const each of [caller, inside]) each.destroy()
  }

  #accept(caller: Socket): void {
    const target = this.#healthy[this.#turn++ % this.#healthy.length]
    caller.on('error', () => undefined)
    if (target === undefined) return void caller.destroy()
    const inside = connect(target).on('error', () => undefined)
    const pair = { caller, inside, target }
    this.#pairs.add(pair)
    const pass = (to: Socket) => (data: Buffer) => {
      if (this.delayMs === 0) to.write(data)
      else setTimeout(() => to.write(data), this.delayMs)
    }
    caller.on('data', pass(inside))
    inside.on('data', pass(caller))
    const end = () => {
      this.#pairs.delete(pair)
      setTimeout(() => [caller, inside].map((each) => each.destroySoon()), this.delayMs)
    }
    for (const each of [caller, inside]) each.on('close', end)
  }

  async #keepChecking(): Promise<void> {
    const { targets, isHealthy = accepts } = this.#options
    while (!this.#stopped.signal.aborted) {
      const checked = await Promise.all(targets.map((target) => isHealthy(target).catch(() => false)))
      this.#healthy = targets.filter((_, index) => checked[index])
      for (const { caller, inside, target } of this.#pairs)
        if (!this.#healthy.includes(target)) for (const each of [caller, inside]) each.destroy()
      await delay(CHECK_MS, undefined, { signal: this.#stopped.signal }).catch(() => undefined)
    }
  }
}

/** Whether something listens there. @throws if not */
export async function accepts(target: Target): Promise<boolean> {
  const socket = connect(target)
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) })
    return true
  } finally {
    socket.destroy()
  }
}
