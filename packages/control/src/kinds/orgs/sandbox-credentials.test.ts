import { randomBytes, randomUUID } from 'node:crypto'
import type { SandboxId } from '@offshoot/contract/ids'
import { sandboxCredentialText } from '@offshoot/contract/sandbox-credential'
import { signText } from '@offshoot/kit/signed-text'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const credentialOf = (secret: Buffer, id: SandboxId) => signText(secret, sandboxCredentialText(id))

describe('a credential for one sandbox', () => {
  const secret = randomBytes(32)
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let own: SandboxId
  let other: SandboxId
  let token: string

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], { gateway_secret: secret.toString('base64') })
    alice = await harness.tenant(control, 'alice')
    const create = async () =>
      (await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })).body.id
    own = await create()
    other = await create()
    token = credentialOf(secret, own)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, credential = token) =>
    call(control.url, method, path, { token: credential, ...(body !== undefined && { body }) })

  it('reads its sandbox, and reaches its agent', async () => {
    expect(await ask('GET', `/v1/sandboxes/${own}`)).toMatchObject({ status: 200, body: { id: own } })
    agent.onOperation = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
      return true
    }
    expect(await ask('GET', `/v1/sandboxes/${own}/execs`)).toMatchObject({ status: 200, body: [] })
  })

  it.each([
    ['GET', '', ''],
    ['GET', '/execs', ''],
    ['POST', '/exec', { cmd: 'true' }],
    ['POST', '/wake', {}],
  ])('does not find another sandbox of the workspace: %s %s', async (method, path, body) => {
    const answer = await ask(method, `/v1/sandboxes/${other}${path}`, body === '' ? undefined : body)
    expect(answer).toMatchObject({ status: 404, body: { error: 'not found' } })
  })

  it('opens no route outside of its sandbox', async () => {
    const routes = [
      ['GET', '/v1/sandboxes'],
      ['POST', '/v1/sandboxes'],
      ['DELETE', `/v1/sandboxes/${own}`],
      ['POST', `/v1/sandboxes/${own}/hibernate`],
      ['PATCH', `/v1/sandboxes/${own}/lifecycle`],
      ['POST', `/v1/sandboxes/${own}/fork`],
      ['POST', `/v1/sandboxes/${own}/snapshots`],
      ['GET', '/v1/me/tokens'],
      ['GET', '/v1/databases'],
      ['GET', '/v1/usage'],
    ] as const
    for (const [method, path] of routes) {
      const body = method === 'GET' || method === 'DELETE' ? undefined : {}
      expect([path, await ask(method, path, body)]).toMatchObject([
        path,
        { status: 403, body: { error: 'insufficient scope', detail: 'takes a key of the workspace' } },
      ])
    }
  })

  it('is refused if it was signed with another secret, or names no sandbox', async () => {
    const forged = [credentialOf(randomBytes(32), own), credentialOf(secret, randomUUID() as SandboxId)]
    for (const credential of [...forged, `ofs_sandbox_${own}`, `${token}x`]) {
      const answer = await ask('GET', `/v1/sandboxes/${own}`, undefined, credential)
      expect(answer).toMatchObject({ status: 401, body: { error: 'unauthorized', detail: 'invalid api token' } })
    }
  })

  it('ends with its sandbox, and while the workspace is suspended starts nothing', async () => {
    const suspend = (at: string | null) =>
      harness.pool.query('update organization set suspended_at = $2 where id = $1', [alice.workspaceId, at])
    await suspend('2026-01-01')
    expect((await ask('POST', `/v1/sandboxes/${own}/exec`, { cmd: 'true' })).status).toBe(403)
    await suspend(null)
    await ask('DELETE', `/v1/sandboxes/${own}`, undefined, alice.key)
    expect((await ask('GET', `/v1/sandboxes/${own}`)).status).toBe(401)
  })

  it('is unknown to a control without the secret', async () => {
    const without = await harness.control([agent])
    const answer = await call(without.url, 'GET', `/v1/sandboxes/${other}`, {
      token: credentialOf(secret, other),
    })
    expect(answer.status).toBe(401)
    await without.stop()
  })

  it('is named as the actor in the audit log', async () => {
    const credential = credentialOf(secret, other)
    await ask('POST', `/v1/sandboxes/${other}/wake`, {}, credential)
    const { body } = await ask('GET', '/v1/audit', undefined, alice.jwt)
    expect(body).toContainEqual(
      expect.objectContaining({ action: 'request.made', actor: { type: 'sandbox', id: other } }),
    )
  })
})
