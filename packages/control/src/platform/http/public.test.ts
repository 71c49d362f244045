import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proxiedRoutes } from '../../kinds/sandboxes/proxied-routes.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('public routes', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'alice')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  it('GET /version', async () => {
    const { status, body } = await call(control.url, 'GET', '/version')
    expect({ status, body }).toEqual({
      status: 200,
      body: { service: 'offshoot', version: '0.1.0', commit: 'abc', api: 'v1' },
    })
  })

  it('GET /metrics counts by the route, not by the path', async () => {
    const created = await call(control.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base' } })
    await call(control.url, 'GET', `/v1/sandboxes/${created.body.id}`, { token: tenant.key })
    const { body, headers } = await call(control.url, 'GET', '/metrics')
    expect(headers.get('content-type')).toMatch(/^text\/plain/)
    expect(body).toContain(
      'offshoot_http_request_duration_seconds_count{method="GET",route="/v1/sandboxes/:id",status="200"} 1',
    )
    expect(body).toContain('offshoot_sandboxes{status="running"} 1')
    expect(body).toContain('offshoot_agents_up 1')
    expect(body).toContain('offshoot_agents_memory_mib{kind="total"} 4096')
    expect(body).toContain(`offshoot_agents_disk_bytes{kind="free"} ${1024 ** 4}`)
    expect(body).toContain('offshoot_agents_disk{state="ok"} 1')
    expect(body).toContain('offshoot_agents_disk{state="refusing"} 0')
    expect(body).not.toContain(created.body.id)
    // The body contains no id at all, not even an agent's.
    expect(body).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/)
  })

  describe('GET /openapi.json', () => {
    it('describes every route under /v1 with its schemas, and refers to nothing that is not there', async () => {
      const { body } = await call(control.url, 'GET', '/openapi.json')
      expect(body.openapi).toBe('3.1.0')
      const operations = Object.entries(body.paths).flatMap(([path, methods]) =>
        Object.keys(methods as object).map((method) => `${method} ${path}`),
      )
      for (const { method, url } of proxiedRoutes) {
        expect(operations).toContain(`${method.toLowerCase()} ${url.replaceAll(/:(\w+)/g, '{$1}')}`)
      }
      expect(operations).toEqual(expect.arrayContaining(['post /v1/sandboxes', 'delete /v1/me/tokens/{prefix}']))
      for (const operation of Object.values(body.paths).flatMap((methods) => Object.values(methods as object))) {
        expect(operation.operationId).toMatch(/^[a-z]\w+$/)
        for (const scheme of operation.security) {
          expect(Object.keys(body.components.securitySchemes)).toEqual(expect.arrayContaining(Object.keys(scheme)))
          expect(Object.keys(operation.responses)).toContain('401')
        }
      }
      const names = Object.values(body.paths).flatMap((methods) =>
        Object.values(methods as Record<string, { operationId: string }>).map(({ operationId }) => operationId),
      )
      expect(new Set(names).size).toBe(names.length)
      for (const [, name] of JSON.stringify(body).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
        expect(Object.keys(body.components.schemas)).toContain(name)
      }
    })

    it('has the fields of a create and of a sandbox', async () => {
      const { body } = await call(control.url, 'GET', '/openapi.json')
      const { requestBody, responses } = body.paths['/v1/sandboxes'].post
      const { CreateSandboxBody: sent, Sandbox: received } = body.components.schemas
      const SCHEMAS = '#/components/schemas/'
      expect(requestBody.content['application/json'].schema).toEqual({ $ref: `${SCHEMAS}CreateSandboxBody` })
      expect(responses['201'].content['application/json'].schema).toEqual({ $ref: `${SCHEMAS}Sandbox` })
      expect(sent.anyOf).toEqual([{ required: ['template'] }, { required: ['from_snapshot'] }])
      expect(Object.keys(sent.properties)).toEqual(
        expect.arrayContaining(['ttl_seconds', 'metadata', 'persistent', 'env']),
      )
      expect(received.required).toEqual(expect.arrayContaining(['id', 'status', 'expires_at']))
      const statuses = ['201', '400', '401', '402', '403', '404', '409', '413', '429', '502', '503', '507']
      expect(Object.keys(responses).sort()).toEqual(statuses)
    })
  })

  describe('templates', () => {
    it('are those the agents report', async () => {
      const { status, body } = await call(control.url, 'GET', '/v1/templates', { token: tenant.key })
      expect(status).toBe(200)
      expect(body.map((template: { name: string }) => template.name)).toEqual(['base', 'minimal'])
      const one = await call(control.url, 'GET', '/v1/templates/base', { token: tenant.jwt })
      expect(one.body).toEqual({
        name: 'base',
        rootfs_path: 'templates/base/rootfs.ext4',
        size_bytes: 1_000_000,
        cpu: 1,
        memory_mb: 512,
        meta: {},
        is_global: true,
        created_at: expect.stringMatching(TIME),
        updated_at: expect.stringMatching(TIME),
      })
    })

    it.each(['nowhere', '..%2fbase', '%00', 'x'.repeat(500)])('answers 404 for %s', async (name) => {
      const { status, body } = await call(control.url, 'GET', `/v1/templates/${name}`, { token: tenant.key })
      expect({ status, body }).toEqual({ status: 404, body: { error: 'not found' } })
    })
  })

  it('GET /healthz says what the agents run on, and of an agent that is gone', async () => {
    const { status, body } = await call(control.url, 'GET', '/healthz')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'ok',
      checks: { database: 'ok', agents: 'ok', disk: 'ok' },
      agents: [
        {
          id: agent.state.agentId,
          status: 'ok',
          accelerator: 'tcg',
          accelerator_reason: 'there is no /dev/kvm',
          isolation: 'user',
          cpu_limits: 'cgroup-v2',
          disk: { state: 'ok', free_bytes: 1024 ** 4 },
        },
      ],
    })
    agent.state.diskState = 'refusing'
    const refusing = await eventually(async () => {
      const answer = await call(control.url, 'GET', '/healthz')
      return answer.body.checks.disk === 'refusing' ? answer : null
    })
    expect(refusing).toMatchObject({ status: 200, body: { status: 'ok', checks: { agents: 'ok' } } })
    await agent.kill()
    const later = await eventually(async () => {
      const answer = await call(control.url, 'GET', '/healthz')
      return answer.body.checks.agents === 'unreachable' ? answer : null
    })
    expect(later).toMatchObject({ status: 200, body: { checks: { disk: 'ok' } } })
  })
})
