import { createClient } from '@redis/client'
import type { WorkspaceId } from '@offshoot/contract/ids'
import type pg from 'pg'
import type { Logger } from 'pino'
import { statement } from '../db/statement.ts'
import { PostgresBuckets } from './postgres-buckets.ts'
import type { Asked, Lease, Rate, TokenBuckets } from './token-buckets.ts'

const CONNECT_MS = 2_000
/** Milliseconds for an answer. After that PostgreSQL is asked instead. */
const ANSWER_MS = 500
const LAST_RETRY_MS = 2_000
/** Commands that may wait for Redis at the same time. */
const MAX_ASKING = 10_000
/** Milliseconds for which a workspace's own rate is cached. */
const RATE_MS = 2_000
const MAX_RATES = 50_000

/** Uses Redis's clock, because the clocks of control processes may differ. */
const LEASE = `
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local want, unused, burst, rate = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = burst
if kept[1] then tokens = math.min(burst, kept[1] + unused + math.max(0, now - kept[2]) * rate) end
local granted = math.min(math.floor(tokens), want)
redis.call('HSET', KEYS[1], 'tokens', tokens - granted, 'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], math.ceil(burst / rate) + 60)
return granted`

export const rateOfWorkspace = statement<
  { burst: number; per_second: number },
  [id: string, burst: number, perSecond: number]
>(
  'rate-of-workspace',
  `select coalesce(rate_burst, $2::int) as burst, coalesce(rate_per_second, $3::int) as per_second
   from workspace_accounts where workspace_id = $1`,
)

/**
 * Token buckets in Redis or Valkey: one key each, which expires once its bucket would be full.
 *
 * While Redis cannot be reached, PostgreSQL's buckets are used, which are full at first. So no request is refused
 * because of the outage, and a workspace gets at most one more burst.
 */
export class RedisBuckets implements TokenBuckets {
  readonly #client
  readonly #pool: pg.Pool
  readonly #instead: PostgresBuckets
  readonly #log: Logger
  readonly #rates = new Map<WorkspaceId, { readonly rate: Rate; readonly untilMs: number }>()
  #isAway = false

  constructor(url: string, pool: pg.Pool, log: Logger) {
    this.#pool = pool
    this.#instead = new PostgresBuckets(pool)
    this.#log = log
    this.#client = createClient({
      url,
      disableOfflineQueue: true,
      commandsQueueMaxLength: MAX_ASKING,
      socket: { connectTimeout: CONNECT_MS, reconnectStrategy: (tries) => Math.min(LAST_RETRY_MS, 50 * 2 ** tries) },
    })
    // Every failed command reports its own error.
    this.#client.on('error', () => undefined)
    this.#client.connect().catch((error: unknown) => this.#note(error))
  }

  async lease(workspaceId: WorkspaceId, asked: Asked, rate: Rate): Promise<Lease> {
    try {
      const own = await this.#rateOf(workspaceId, rate)
      const granted = await this.#ask(workspaceId, asked, own)
      if (this.#isAway) this.#log.info('requests are counted in Redis again')
      this.#isAway = false
      return { ...own, granted }
    } catch (error) {
      this.#note(error)
      return this.#instead.lease(workspaceId, asked, rate)
    }
  }

  close(): void {
    this.#client.destroy()
  }

  async #ask(workspaceId: WorkspaceId, { want, unused }: Asked, { burst, perSecond }: Rate): Promise<number> {
    const granted = await this.#client.withAbortSignal(AbortSignal.timeout(ANSWER_MS)).eval(LEASE, {
      keys: [`offshoot:rate:${workspaceId}`],
      arguments: [want, unused, burst, perSecond].map(String),
    })
    return Number(granted)
  }

  async #rateOf(workspaceId: WorkspaceId, rate: Rate): Promise<Rate> {
    const known = this.#rates.get(workspaceId)
    if (known !== undefined && known.untilMs > performance.now()) return known.rate
    const [row] = await rateOfWorkspace(this.#pool, workspaceId, rate.burst, rate.perSecond)
    const own = row === undefined ? rate : { burst: row.burst, perSecond: row.per_second }
    this.#rates.delete(workspaceId)
    this.#rates.set(workspaceId, { rate: own, untilMs: performance.now() + RATE_MS })
    if (this.#rates.size > MAX_RATES) this.#rates.delete(this.#rates.keys().next().value ?? workspaceId)
    return own
  }

  /** Logs an outage once, however long it lasts. */
  #note(error: unknown): void {
    if (!this.#isAway) this.#log.warn({ err: error }, 'Redis cannot be asked: requests are counted in PostgreSQL')
    this.#isAway = true
  }
}
