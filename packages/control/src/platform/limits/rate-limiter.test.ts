import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, eventually, Harness, type RunningControl } from '../../test/harness.ts'
import { hasRedis, RedisServer } from '../../test/redis-server.ts'
import { setRate } from '../../kinds/orgs/identity/account-statements.ts'

/** Refilled more slowly than even a busy machine sends requests. */
const RATE = { default_plan: 'free', rate_burst: 50, rate_per_second: 1 } as const
const TEXT = 'rate limit: 50 req/burst, 25/sec sustained per workspace'

const ask = (url: string, token: string, path = '/v1/templates') => call(url, 'GET', path, { token })

/** Sends `count` concurrent requests and returns how many were admitted. */
async function flood(urls: readonly string[], token: string, count: number): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, index) => ask(urls[index % urls.length] ?? '', token)),
  )
  for (const { status } of answers) expect([200, 429]).toContain(status)
  return answers.filter(({ status }) => status === 200).length
}

describe('rate limit', () => {
  let harness: Harness
  let one: RunningControl
  let other: RunningControl

  beforeAll(async () => {
    harness = await Harness.start()
    one = await harness.control([], { limits: RATE })
    other = await harness.control([], { limits: RATE })
  })

  afterAll(async () => {
    await harness.stop()
  })

  it('lets a burst in and refuses the rest with the text and the wait that are specified', async () => {
    const { key } = await harness.tenant(one, 'burst')
    const startedAt = performance.now()
    const passed = await flood([one.url], key, 200)
    const refilled = (performance.now() - startedAt) / 1000
    expect(passed).toBeGreaterThanOrEqual(50)
    expect(passed).toBeLessThanOrEqual(50 + Math.ceil(refilled))
    const refused = await eventually(async () => {
      const answer = await ask(one.url, key)
      return answer.status === 429 ? answer : null
    })
    expect(refused.body).toEqual({ error: TEXT })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('x-request-id')).toMatch(/./)
  })

  it('is one for all processes together', async () => {
    const { key } = await harness.tenant(one, 'shared')
    const startedAt = performance.now()
    const passed = await flood([one.url, other.url], key, 200)
    const refilled = (performance.now() - startedAt) / 1000
    // One process may hold leased tokens that the other could have used.
    expect(passed).toBeGreaterThanOrEqual(40)
    expect(passed).toBeLessThanOrEqual(50 + Math.ceil(refilled))
  })

  it('counts keys and tokens of a workspace together, and every route, /v1/me included', async () => {
    const { key, jwt } = await harness.tenant(one, 'together')
    await flood([one.url], key, 100)
    const answer = await eventually(async () => {
      const { status, body } = await ask(one.url, jwt, '/v1/me')
      return status === 429 ? body : null
    })
    expect(answer).toEqual({ error: TEXT })
  })

  it('holds for one workspace and not for its neighbour', async () => {
    const [loud, quiet] = [await harness.tenant(one, 'loud'), await harness.tenant(one, 'quiet')]
    await flood([one.url], loud.key, 100)
    expect((await ask(one.url, quiet.key)).status).toBe(200)
  })

  it('lets in again what time has refilled', async () => {
    const { key } = await harness.tenant(one, 'refilled')
    await flood([one.url], key, 100)
    await eventually(async () => (await ask(one.url, key)).status === 200)
  })

  it('is what an operator says it is', async () => {
    const { key, workspaceId } = await harness.tenant(one, 'special')
    expect((await ask(one.url, key)).status).toBe(200)
    await one.control.database.pool.query(
      `insert into workspace_accounts (workspace_id, plan, plan_source) values ($1, 'free', 'default')`,
      [workspaceId],
    )
    // Refilled faster than even the fastest machine sends requests.
    await setRate(one.control.database.pool, workspaceId, 10_000, 10_000)
    await eventually(async () => (await flood([one.url], key, 150)) === 150)
  })

  it('asks the database seldom', { tags: ['faults'] }, async () => {
    const limits = { ...RATE, rate_burst: 10_000, rate_per_second: 10_000 }
    const { control, url } = await harness.control([], { limits })
    const { key } = await harness.tenant(one, 'seldom')
    await ask(url, key)
    const { pool } = control.database
    let asked = 0
    const original = pool.query.bind(pool)
    pool.query = ((config: { name?: string }, ...rest: never[]) => {
      if (config.name === 'lease-tokens') asked += 1
      return original(config as never, ...rest)
    }) as typeof pool.query
    expect(await flood([url], key, 500)).toBe(500)
    expect(asked).toBeLessThanOrEqual(25)
  })
})

describe.runIf(hasRedis)('rate limit in Redis', () => {
  let harness: Harness
  let redis: RedisServer
  let processes: RunningControl[]

  beforeAll(async () => {
    redis = await RedisServer.start()
    harness = await Harness.start()
    const limits = { ...RATE, redis_url: redis.url }
    processes = [await harness.control([], { limits }), await harness.control([], { limits })]
  })

  afterAll(async () => {
    await harness.stop()
    await redis.stop()
  })

  const urls = () => processes.map(({ url }) => url)
  const buckets = async () =>
    (await harness.pool.query('select count(*)::int as count from rate_buckets')).rows[0].count as number

  it('is one for all processes together, and asks nothing of PostgreSQL', async () => {
    const [first] = processes
    if (first === undefined) throw new Error('no process')
    const { key } = await harness.tenant(first, 'in-redis')
    const startedAt = performance.now()
    const passed = await flood(urls(), key, 200)
    const refilled = (performance.now() - startedAt) / 1000
    expect(passed).toBeGreaterThanOrEqual(40)
    expect(passed).toBeLessThanOrEqual(50 + Math.ceil(refilled))
    expect(await buckets()).toBe(0)
    const refused = await eventually(async () => {
      const { status, body } = await ask(first.url, key)
      return status === 429 ? body : null
    })
    expect(refused).toEqual({ error: TEXT })
  })

  it('is what an operator says it is, and time fills it', { tags: ['faults'] }, async () => {
    const [first] = processes
    if (first === undefined) throw new Error('no process')
    const { key, workspaceId } = await harness.tenant(first, 'special-in-redis')
    await flood(urls(), key, 100)
    await eventually(async () => (await ask(first.url, key)).status === 200)
    await harness.pool.query(
      `insert into workspace_accounts (workspace_id, plan, plan_source) values ($1, 'free', 'default')`,
      [workspaceId],
    )
    await setRate(harness.pool, workspaceId, 10_000, 10_000)
    await eventually(async () => (await flood(urls(), key, 150)) === 150)
  })

  it(
    'is counted in PostgreSQL while Redis is away, and in Redis again when it is back',
    { tags: ['faults'] },
    async () => {
      const [first] = processes
      if (first === undefined) throw new Error('no process')
      const { key } = await harness.tenant(first, 'without-redis')
      await redis.stop()
      expect(await flood(urls(), key, 200)).toBeLessThan(100)
      expect(await buckets()).toBe(1)
      await redis.startAgain()
      const other = await harness.tenant(first, 'redis-is-back')
      await eventually(async () => {
        await ask(first.url, other.key)
        return (await redis.keys()).some((name) => name.endsWith(other.workspaceId))
      })
    },
  )
})
