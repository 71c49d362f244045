import { HOST_CERTIFICATE_PATH } from '@offshoot/contract/host-enrolment'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { internalPaths } from '../../../test/internal-paths.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

/** Routes for everybody. */
const OPEN: ReadonlySet<number> = new Set([200, 204, 302, 303])

interface Operation {
  readonly method: string
  readonly path: string
}

describe('everything that is on a stolen host', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let sandbox: string
  let host: JoiningHost
  let operations: readonly Operation[]
  /** Bearer tokens that a thief can make, by what they pretend to be. */
  let tokens: Readonly<Record<string, string>>

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], {
      ...OPERATOR,
      edge_secret: Buffer.alloc(32, 1).toString('base64'),
      gateway_secret: Buffer.alloc(32, 2).toString('base64'),
      ssh: { host: '127.0.0.1', port: 2222 },
      trusted_proxies: ['127.0.0.1/32'],
    })
    alice = await harness.tenant(control, 'alice')
    const made = await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })
    sandbox = made.body.id
    const { body } = await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })
    host = new JoiningHost()
    await host.join(control, body.token)
    operations = [...(await describedOperations()), ...(await internalOperations())]
    const claims = { workspace_id: alice.workspaceId, sandbox_id: sandbox, sub: alice.userId, org: alice.workspaceId }
    tokens = { spent: body.token, ...(await host.forgedTokens(claims)) }
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  let asked = 0
  const nextAddress = () => {
    asked += 1
    return `10.${(asked >> 16) & 255}.${(asked >> 8) & 255}.${asked & 255}`
  }

  async function describedOperations(): Promise<Operation[]> {
    const { body } = await call(control.url, 'GET', '/openapi.json')
    return Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
    )
  }

  async function internalOperations(): Promise<Operation[]> {
    return (await internalPaths()).flatMap((path) =>
      ['GET', 'POST'].flatMap((method) => [path, `${path}/${sandbox}`].map((each) => ({ method, path: each }))),
    )
  }

  it('opens no route of control that is not open to everybody, but its own renewal', { tags: ['long'] }, async () => {
    expect(operations.length).toBeGreaterThan(200)
    const opened: string[] = []
    for (const { method, path } of operations) {
      const real = path.replace('{id}', sandbox).replaceAll(/\{\w+\}/g, 'x')
      const ask = async (token?: string) => {
        // Every request from an address of its own, so that none is refused because others were.
        const headers = { 'content-type': 'application/json', 'x-forwarded-for': nextAddress() }
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
        const answer = await call(control.url, method, real, {
          ...(token !== undefined && { token }),
          headers,
          ...body,
        })
        return answer.status
      }
      const anonymous = await ask()
      for (const [name, token] of Object.entries(tokens)) {
        const status = await ask(token)
        if (OPEN.has(status) && !OPEN.has(anonymous)) opened.push(`${method} ${path} with ${name}`)
      }
    }
    expect(opened).toEqual([`POST ${HOST_CERTIFICATE_PATH} with withKey`])
  })
})
