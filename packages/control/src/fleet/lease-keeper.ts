import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isUuid } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { AgentClient } from './agent-client.ts'
import { AgentRefused } from './agent-failure.ts'
import { sendGivenUp, sendRenewal } from './lease-calls.ts'
import { giveUpLease, grantAnew, renewLease } from './lease-statements.ts'

/** Renewals during one lease. */
const RENEWALS = 6
/** Milliseconds until the next attempt after the agent did not know the challenge, and until a look at the lead. */
const AGAIN_MS = 200
/** Milliseconds between two looks at a host that takes no lease. */
const LOOK_AGAIN_MS = 30_000

/** Half of a lease: a later answer would leave too little of it. */
const timeoutMs = (seconds: number) => (seconds * 1000) / 2

interface Options {
  readonly agentId: string
  readonly client: AgentClient
  readonly pool: pg.Pool
  /** Of one lease. `null`: hosts need none. */
  readonly seconds: number | null
  readonly isLeading: () => boolean
  readonly log: Logger
}

/**
 * Renews the lease of a joined host while this process leads its agent.
 *
 * Each answer of the agent has a challenge. The next renewal is noted in the database, and only then sent with that
 * challenge, so the lease ends on the host before control may declare its end ({@link SilentHosts}). A renewal that was
 * delayed, also by a stop of this process, is worth nothing.
 */
export class LeaseKeeper {
  readonly #options: Options
  readonly #stopped = new AbortController()
  readonly #running: Promise<void>
  #challenge: string | null = null
  /** The last renewal that the agent took. */
  #confirmed: number | null = null
  /** What was logged last. */
  #told = ''

  constructor(options: Options) {
    this.#options = options
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const againMs = await this.#round().catch((error: unknown) => {
        this.#challenge = null
        if (!signal.aborted) this.#tell('lease of a host not renewed: trying again', error)
        return this.#intervalMs
      })
      await delay(againMs, undefined, { signal }).catch(() => undefined)
    }
  }

  get #intervalMs(): number {
    const { seconds } = this.#options
    return seconds === null ? LOOK_AGAIN_MS : (seconds * 1000) / RENEWALS
  }

  /** @returns milliseconds until the next one */
  async #round(): Promise<number> {
    const { agentId, isLeading, pool, seconds } = this.#options
    if (!isLeading()) {
      // The agent may start anew meanwhile.
      this.#challenge = null
      return AGAIN_MS
    }
    if (seconds === null) return this.#giveUp()
    this.#challenge ??= await this.#askForChallenge(seconds)
    if (this.#challenge === null) return this.#giveUp()
    const [renewed] = await renewLease(pool, agentId, seconds, this.#confirmed)
    const renewal = renewed ?? (await this.#grantAnew(seconds))
    if (renewal === null) {
      this.#tell('the host gets a lease when it has nothing that other hosts have taken over')
      return this.#intervalMs
    }
    const { generation, renewals } = renewal
    return this.#send(seconds, generation, renewals)
  }

  async #send(seconds: number, generation: number, renewals: number): Promise<number> {
    const { client } = this.#options
    const challenge = this.#challenge ?? undefined
    const answer = await sendRenewal(client, { challenge, seconds, generation }, timeoutMs(seconds), randomUUID())
    this.#confirmed = answer.is_renewed ? renewals : null
    this.#challenge = answer.challenge
    if (answer.is_renewed) this.#tell('')
    // The agent has started anew, and did not know the challenge.
    return answer.is_renewed ? this.#intervalMs : AGAIN_MS
  }

  async #grantAnew(seconds: number) {
    const { agentId, client, pool } = this.#options
    const { sandboxes, unreadable } = await client.list(randomUUID())
    // A VM without a readable record cannot be given up, but it would run again.
    const ids = [...sandboxes.map(({ id }) => id), ...unreadable].filter(isUuid)
    return grantAnew(pool, agentId, seconds, ids)
  }

  /** `null`: the agent takes no lease. */
  async #askForChallenge(seconds: number): Promise<string | null> {
    const { client } = this.#options
    try {
      const answer = await sendRenewal(client, { seconds, generation: 0 }, timeoutMs(seconds), randomUUID())
      if (answer.challenge === null) this.#tell('the agent cannot stop databases in time: nothing of it is taken over')
      return answer.challenge
    } catch (error) {
      if (!(error instanceof AgentRefused) || error.status !== 404) throw error
      this.#tell('the agent is of a version that knows no leases: nothing of it is taken over')
      return null
    }
  }

  async #giveUp(): Promise<number> {
    const { agentId, client, pool } = this.#options
    this.#confirmed = null
    const { lease } = await client.info(randomUUID())
    if ((await giveUpLease(pool, agentId)) && lease?.is_required === true) await sendGivenUp(client, randomUUID())
    return LOOK_AGAIN_MS
  }

  /** Logs the same only once. */
  #tell(what: string, error?: unknown): void {
    if (what !== '' && what !== this.#told)
      this.#options.log.warn({ agent: this.#options.agentId, ...(error !== undefined && { err: error }) }, what)
    this.#told = what
  }
}
