import { type Telemetry, startTelemetry } from '@offshoot/kit/otlp/telemetry'
import { OtlpReceiver } from '@offshoot/kit/test/otlp-receiver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from './test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from './test/harness.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const SERVER = 2
const CLIENT = 3

describe('traces', () => {
  let receiver: OtlpReceiver
  let telemetry: Telemetry | null
  let harness: Harness
  let agent: FakeAgent
  let running: RunningControl
  let tenant: Tenant
  let id: string

  beforeAll(async () => {
    receiver = await OtlpReceiver.start()
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '5' }
    Object.assign(process.env, env)
    telemetry = await startTelemetry('control-under-test')
    for (const name of Object.keys(env)) delete process.env[name]
    harness = await Harness.start()
    agent = await FakeAgent.start()
    running = await harness.control([agent])
    tenant = await harness.tenant(running, 'traced')
    const { body } = await call(running.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base' } })
    id = body.id
  })

  afterAll(async () => {
    await telemetry?.stop()
    await running.stop()
    await agent.kill()
    await harness.stop()
    await receiver.stop()
  })

  const send = async (method: string, path: string, requestId: string, headers: Record<string, string> = {}) =>
    call(running.url, method, path, {
      token: tenant.key,
      headers: { 'x-request-id': requestId, ...headers },
      ...(method === 'POST' && { body: { cmd: 'echo top-secret-word' } }),
    })
  const served = (requestId: string) =>
    eventually(() =>
      receiver.spans.find(({ kind, attributes: { 'offshoot.request_id': id } }) => kind === SERVER && id === requestId),
    )

  it('continue the caller’s trace through control to the agent', async () => {
    let sent: unknown
    agent.onExec = async (_body, { headers }) => {
      sent = headers['traceparent']
      return { status: 200, body: { stdout: '', stderr: '', exit_code: 0, duration_ms: 1 } }
    }
    const answer = await send('POST', `/v1/sandboxes/${id}/exec`, 'one', { traceparent: `00-${TRACE}-${CALLER}-01` })
    expect(answer.status).toBe(200)
    const span = await served('one')
    expect(span).toMatchObject({
      service: 'control-under-test',
      name: 'POST /v1/sandboxes/:id/exec',
      trace: TRACE,
      parent: CALLER,
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/sandboxes/:id/exec',
        'url.path': `/v1/sandboxes/${id}/exec`,
        'http.response.status_code': 200,
      },
    })
    const asked = await eventually(() =>
      receiver.spans.find(({ parent, name }) => parent === span.id && name === 'POST'),
    )
    expect(asked).toMatchObject({ kind: CLIENT, trace: TRACE, attributes: { 'http.response.status_code': 200 } })
    expect(sent).toBe(`00-${TRACE}-${asked.id}-01`)
  })

  it('begin with a request whose traceparent is malformed', async () => {
    const hostile = [
      `00-${TRACE}-${CALLER}`,
      `ff-${TRACE}-${CALLER}-01`,
      `00-${'0'.repeat(32)}-${CALLER}-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      `00-${TRACE.toUpperCase()}-${CALLER}-01`,
      `00-${TRACE}-${CALLER}-01, 00-${TRACE}-${CALLER}-01`,
      `00-${TRACE}-${CALLER}-01-more`,
      'x'.repeat(8_000),
    ]
    for (const [index, traceparent] of hostile.entries()) {
      const answer = await send('GET', `/v1/sandboxes/${id}`, `hostile-${index}`, { traceparent, tracestate: '=,=' })
      expect(answer.status).toBe(200)
      const { parent, trace } = await served(`hostile-${index}`)
      expect([traceparent, parent]).toEqual([traceparent, ''])
      expect(trace).toMatch(/^[0-9a-f]{32}$/)
      expect(trace).not.toBe(TRACE)
    }
  })

  it('show each statement by its name, without its values', async () => {
    await send('GET', `/v1/sandboxes/${id}`, 'statements')
    const { id: parent } = await served('statements')
    const found = receiver.spans.filter((span) => span.parent === parent)
    expect(found).not.toEqual([])
    for (const { kind, name, attributes } of found)
      expect([kind, attributes]).toEqual([CLIENT, { 'db.system.name': 'postgresql', 'db.query.summary': name }])
    expect(JSON.stringify(found)).not.toContain(id)
  })

  it('are not made for a caller who does not want to be sampled', async () => {
    await send('GET', '/v1/sandboxes', 'unsampled', { traceparent: `00-${TRACE}-${CALLER}-00` })
    await send('GET', '/v1/sandboxes', 'after-unsampled')
    await served('after-unsampled')
    expect(receiver.spans.some(({ attributes }) => attributes['offshoot.request_id'] === 'unsampled')).toBe(false)
  })

  it('tell refusals from failures', async () => {
    agent.onExec = async () => ({ status: 500, body: { error: 'broken' } })
    expect((await send('POST', `/v1/sandboxes/${id}/exec`, 'broken')).status).toBeGreaterThanOrEqual(500)
    expect(await served('broken')).toMatchObject({ isError: true })
    expect((await send('GET', '/v1/sandboxes/unknown', 'unknown')).status).toBe(404)
    expect(await served('unknown')).toMatchObject({ isError: false, attributes: { 'http.response.status_code': 404 } })
    expect((await send('GET', '/v1/no-such-route', 'no-route')).status).toBe(404)
    expect(await served('no-route')).toMatchObject({ name: 'GET', isError: false })
  })

  it('contain no command, credential or query', async () => {
    await send('GET', `/v1/sandboxes/${id}?secret=in-the-query`, 'query')
    await call(running.url, 'POST', '/v1/orgs/invites/in-the-path/accept', {
      token: tenant.jwt,
      headers: { 'x-request-id': 'path' },
    })
    expect(await served('query')).toMatchObject({ attributes: { 'url.path': `/v1/sandboxes/${id}` } })
    expect(await served('path')).toMatchObject({ attributes: { 'url.path': '/v1/orgs/invites/:token/accept' } })
    const all = JSON.stringify(receiver.spans)
    for (const secret of ['top-secret-word', 'in-the-query', 'in-the-path', tenant.key, tenant.jwt, agent.secret])
      expect(all).not.toContain(secret)
  })
})
