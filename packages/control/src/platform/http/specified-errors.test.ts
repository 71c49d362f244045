import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Answer } from '../../test/harness.ts'
import { REQUEST_ID, TenantHarness } from '../../test/tenant-harness.ts'

const NO_MEMORY = { status: 507, body: { error: 'insufficient host memory for sandbox' } }

const STOPPED = {
  status: 409,
  body: { error: 'sandbox not running (paused or hibernated) — resume/wake it first' },
}
const NO_CREDIT = {
  status: 402,
  body: { error: 'monthly free credit exhausted', credit_usd: 5.4, cost_usd_used: 5.41 },
}

interface Row {
  readonly status: number
  /** The exact body, without further fields. */
  readonly body: Record<string, unknown>
  readonly ask: () => Promise<Answer>
  readonly retryAfter?: string
}

describe('every row of the specification’s error table', () => {
  let on: TenantHarness

  beforeAll(async () => {
    on = await TenantHarness.start()
  })
  beforeEach(() => on.renew())
  afterAll(() => on.stop())

  const rows: readonly Row[] = [
    { status: 400, body: { error: 'git_url is required' }, ask: () => on.ask('POST', '/v1/apps', { name: 'a' }) },
    { status: 400, body: { error: 'name is required' }, ask: () => on.ask('POST', '/v1/volumes', {}) },
    { status: 400, body: { error: 'cmd required' }, ask: async () => on.exec(await on.created(), {}) },
    { status: 400, body: { error: 'invalid json' }, ask: () => on.ask('POST', '/v1/sandboxes', '{') },
    { status: 400, body: { error: 'env must be a string map' }, ask: () => on.create({ env: { A: 1 } }) },
    {
      status: 400,
      body: { error: 'idle_timeout_seconds must be >= 60' },
      ask: () => on.create({ idle_timeout_seconds: 59 }),
    },
    {
      status: 401,
      body: { error: 'unauthorized', detail: 'missing bearer token' },
      ask: () => on.ask('GET', '/v1/sandboxes', undefined, { token: null }),
    },
    {
      status: 401,
      body: { error: 'unauthorized', detail: 'invalid api token' },
      ask: () => on.ask('GET', '/v1/sandboxes', undefined, { token: `ofs_AAAAAAAA_${'A'.repeat(32)}` }),
    },
    { status: 401, body: { error: 'unauthorized', detail: 'jwt required' }, ask: () => on.ask('GET', '/v1/me') },
    {
      status: 402,
      body: { error: 'free quota exceeded', detail: expect.stringContaining('nothing is deleted') },
      ask: async () => {
        await on.used(5_400_000, 0)
        return on.create()
      },
    },
    {
      status: 402,
      body: NO_CREDIT.body,
      ask: () => {
        on.agent.onCreate = async () => NO_CREDIT
        return on.create()
      },
    },
    {
      status: 402,
      body: { error: 'subscription not active', subscription_status: 'past_due' },
      ask: async () => {
        await on.onPlan('pro')
        await on.query(
          `update workspace_accounts set plan_source = 'subscription', subscription_status = 'past_due' where workspace_id = $1`,
        )
        return on.create()
      },
    },
    {
      status: 402,
      body: { error: 'org limit reached: your free plan allows 1 org(s). Upgrade to create more.' },
      ask: () => on.ask('POST', '/v1/orgs', { name: 'Another' }, { token: on.tenant.jwt }),
    },
    {
      status: 402,
      body: { error: 'seat limit reached: your free plan allows 1 member(s). Upgrade to invite more.' },
      ask: () =>
        on.ask(
          'POST',
          `/v1/orgs/${on.tenant.workspaceId}/members`,
          { email: 'you@example.com' },
          { token: on.tenant.jwt },
        ),
    },
    {
      status: 403,
      body: { error: 'account suspended', detail: 'please contact support' },
      ask: async () => {
        await on.query('update organization set suspended_at = now() where id = $1')
        return on.create()
      },
    },
    { status: 404, body: { error: 'not found' }, ask: () => on.ask('GET', `/v1/sandboxes/${randomUUID()}`) },
    {
      status: 404,
      body: { error: 'sandbox not found' },
      ask: async () => {
        const id = await on.created()
        on.agent.state.sandboxes.delete(id)
        return on.exec(id)
      },
    },
    {
      status: 404,
      body: { error: 'no code deployed yet' },
      ask: async () => {
        const app = await on.ask('POST', '/v1/apps', { name: 'site', git_url: 'https://example.com/site.git' })
        return on.ask('GET', `/v1/apps/${app.body.id}/proxy/`)
      },
    },
    {
      status: 404,
      body: { error: 'sandbox not found or not running' },
      ask: async () => on.exec(await on.harness.twinOf(await on.created(), 'failed')),
    },
    {
      ...STOPPED,
      ask: async () => {
        on.agent.onExec = async () => STOPPED
        return on.exec(await on.created())
      },
    },
    {
      status: 409,
      body: { error: 'managed sandbox: delete it from the feature that owns it (Databases or Apps)' },
      ask: async () => {
        const id = await on.created()
        await on.query(
          `update sandboxes set managed_by = 'database', managed_id = $2 where workspace_id = $1`,
          randomUUID(),
        )
        return on.ask('DELETE', `/v1/sandboxes/${id}`)
      },
    },
    {
      status: 409,
      body: { error: 'volume already exists' },
      ask: async () => {
        await on.onPlan('pro')
        await on.ask('POST', '/v1/volumes', { name: 'data' })
        return on.ask('POST', '/v1/volumes', { name: 'data' })
      },
    },
    {
      status: 409,
      body: {
        error: expect.stringMatching(/^volume data is attached to sandbox /),
        volume: 'data',
        attached_to: expect.any(String),
      },
      ask: async () => {
        await on.ask('POST', '/v1/volumes', { name: 'data' })
        await on.created({ volumes: [{ name: 'data' }] })
        return on.ask('DELETE', '/v1/volumes/data')
      },
    },
    {
      status: 429,
      body: { error: 'rate limit: 50 req/burst, 25/sec sustained per workspace' },
      retryAfter: '1',
      ask: async () => {
        // The default burst, but a refill so slow that a slow machine's requests still exhaust it.
        const limited = await on.other([on.agent], { rate_burst: 50, rate_per_second: 1 })
        const answers = await Promise.all(
          Array.from({ length: 200 }, () => on.ask('GET', '/v1/sandboxes', undefined, { url: limited.url })),
        )
        await limited.stop()
        const refused = answers.find(({ status }) => status === 429)
        if (refused === undefined) throw new Error('200 requests at once were all let in')
        return refused
      },
    },
    {
      status: 429,
      body: { error: 'hourly create limit exceeded', limit_per_hr: 100, used_last_hr: 100 },
      ask: async () => {
        await on.query(
          'insert into sandbox_creates (sandbox_id, workspace_id) select gen_random_uuid(), $1 from generate_series(1, 100)',
        )
        return on.create()
      },
    },
    {
      status: 429,
      body: { error: 'max sandboxes reached', max: 10, active: 10 },
      ask: async () => {
        const id = await on.created()
        for (let n = 1; n < 10; n += 1) await on.harness.twinOf(id, 'hibernated')
        return on.create()
      },
    },
    {
      status: 429,
      body: {
        error: 'workspace resource quota exceeded',
        cpu_used: 10,
        cpu_max: 10,
        memory_mb_used: 512,
        memory_mb_max: 16_384,
      },
      ask: async () => {
        await on.created()
        await on.query('update sandboxes set cpu = 10, memory_mb = 512 where workspace_id = $1')
        return on.create()
      },
    },
    {
      status: 429,
      body: { error: 'monthly cpu-seconds quota exceeded' },
      ask: async () => {
        await on.used(1, 360_000)
        return on.create()
      },
    },
    {
      status: 429,
      body: { error: 'monthly budget exceeded' },
      ask: async () => {
        await on.onPlan('pro')
        await on.used(1_000_000_000, 1)
        return on.create()
      },
    },
    {
      status: 429,
      body: { error: 'volume quota exceeded', max: 1, active: 1 },
      ask: async () => {
        await on.ask('POST', '/v1/volumes', { name: 'first' })
        return on.ask('POST', '/v1/volumes', { name: 'second' })
      },
    },
    {
      status: 500,
      body: { error: 'internal error', detail: `request ${REQUEST_ID}` },
      ask: async () => {
        await on.harness.pool.query('alter table snapshots rename to snapshots_elsewhere')
        const answer = await on.ask('GET', '/v1/snapshots')
        await on.harness.pool.query('alter table snapshots_elsewhere rename to snapshots')
        return answer
      },
    },
    {
      status: 502,
      body: { error: 'no available compute node' },
      // Only an agent without free memory is left.
      ask: () => {
        const ask = (url: string) => {
          on.agent.onCreate = async () => NO_MEMORY
          return on.create({}, { url })
        }
        return on.afterLosing([on.agent], ask)
      },
    },
    {
      status: 502,
      body: { error: 'agent unreachable' },
      ask: () => on.afterLosing([], (url, sandboxId) => on.exec(sandboxId, undefined, { url })),
    },
    {
      ...NO_MEMORY,
      ask: () => {
        on.agent.onCreate = async () => NO_MEMORY
        return on.create()
      },
    },
    {
      status: 507,
      body: { error: 'insufficient host storage for volume' },
      ask: () => {
        on.agent.onAction = async () => ({ status: 507, body: { error: 'insufficient host storage for volume' } })
        return on.ask('POST', '/v1/volumes', { name: 'data' })
      },
    },
  ]

  it.each(rows)('$status $body.error $body.detail', async (row) => {
    const answer = await row.ask()
    expect({ status: answer.status, body: answer.body }).toEqual({ status: row.status, body: row.body })
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.headers.get('x-request-id')).toBe(REQUEST_ID)
    expect(answer.headers.get('retry-after')).toBe(row.retryAfter ?? null)
  })
})
