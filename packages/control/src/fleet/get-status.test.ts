import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { EDGE_APPS_PATH } from '@offshoot/contract/edge-app'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl } from '../test/harness.ts'
import { startMigratedPostgres, type TestPostgres } from '../test/postgres.ts'

const SECRET = Buffer.alloc(32, 7)
const TEMPLATES = ['base', 'postgres-16', 'app'] as const
const HEALTHY = { api: 'operational', sandboxes: 'operational', databases: 'operational', apps: 'operational' }

describe('GET /v1/status', () => {
  let postgres: TestPostgres
  let harness: Harness
  let first: FakeAgent
  let second: FakeAgent
  let control: RunningControl

  beforeAll(async () => {
    postgres = await startMigratedPostgres()
    harness = await Harness.on(postgres)
    first = await FakeAgent.start({ templates: TEMPLATES })
    second = await FakeAgent.start({ templates: ['base'] })
    control = await harness.control([first, second], { edge_secret: SECRET.toString('base64') })
  })
  afterAll(async () => {
    await harness.stop()
    await Promise.all([first.kill(), second.kill()])
  })

  const status = async () => {
    const { status, body } = await call(control.url, 'GET', '/v1/status')
    expect([status, Object.keys(body).sort()]).toEqual([200, ['checked_at', 'parts', 'status']])
    return body
  }
  const becomes = (expected: object) =>
    eventually(async () => {
      const body = await status()
      const { parts } = body
      return Object.entries(expected).every(([name, state]) => ({ ...parts, status: body.status })[name] === state)
        ? body
        : null
    })

  it('needs no credential, says what works, and nothing of previews without an edge', async () => {
    const body = await becomes({ status: 'operational' })
    expect(body.parts).toEqual({ ...HEALTHY, previews: 'unknown' })
    expect(JSON.stringify(body)).not.toContain(first.state.agentId)
    expect(JSON.stringify(body)).not.toContain(new URL(first.url).port)
  })

  it('knows previews while an edge is connected', async () => {
    const credential = new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid: EDGE_KEY_ID }).setIssuedAt()
    const token = await credential.setExpirationTime('1h').sign(SECRET)
    const leave = new AbortController()
    const { body } = await fetch(control.url + EDGE_APPS_PATH, {
      headers: { authorization: `Bearer ${token}` },
      signal: leave.signal,
    })
    expect((await becomes({ previews: 'operational' })).status).toBe('operational')
    leave.abort()
    await body?.cancel().catch(() => undefined)
    expect((await becomes({ previews: 'unknown' })).status).toBe('operational')
  })

  it('does not ask the database for each caller', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, status))
    expect(new Set(answers.map((each) => each.checked_at)).size).toBeLessThan(50)
  })

  it('says that the API is down while PostgreSQL is away', { tags: ['faults'] }, async () => {
    await postgres.halt()
    expect((await becomes({ api: 'down' })).status).toBe('down')
    await postgres.restart('SIGINT')
    expect((await becomes({ api: 'operational' })).status).toBe('operational')
  })

  it('says what suffers when hosts have no space, or are away', { tags: ['faults'] }, async () => {
    for (const each of [first, second]) each.state.diskState = 'refusing'
    await becomes({ sandboxes: 'degraded', status: 'degraded' })
    for (const each of [first, second]) each.state.diskState = 'ok'
    await becomes({ sandboxes: 'operational' })
    await first.kill()
    // The other host has no template for databases and apps.
    expect((await becomes({ sandboxes: 'degraded', databases: 'down', apps: 'down' })).status).toBe('down')
    await second.kill()
    await becomes({ api: 'operational', sandboxes: 'down' })
  })
})
