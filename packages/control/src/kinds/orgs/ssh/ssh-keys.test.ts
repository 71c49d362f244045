// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomBytes } from 'node:crypto'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { EDGE_SSH_ADMISSIONS_PATH, EDGE_SSH_HOST_KEY_PATH } from '@offshoot/contract/edge-ssh'
import type { SshKeyPair } from '@offshoot/kit/ssh/ssh-certificate'
import { fingerprintOf } from '@offshoot/kit/ssh/ssh-public-key'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { lineOf, newPair } from '../../../test/ssh-proof.ts'

const secret = randomBytes(32)
let harness: Harness
let agent: FakeAgent
let control: RunningControl
let alice: Tenant
let bob: Tenant

beforeAll(async () => {
  agent = await FakeAgent.start()
  harness = await Harness.start()
  control = await harness.control([agent], {
    edge_secret: secret.toString('base64'),
    ssh: { host: 'ssh.example.com', port: 2222 },
    limits: { rate_burst: 1_000_000, rate_per_second: 1_000_000 },
  })
  alice = await harness.tenant(control, 'alice')
  bob = await harness.tenant(control, 'bob')
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

const ask = (token: string, method: string, path: string, body?: unknown) =>
  call(control.url, method, path, { token, ...(body !== undefined && { body }) })

const edgeToken = (kid = EDGE_KEY_ID) =>
  new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid }).setExpirationTime('60s').sign(secret)

async function addKey({ jwt }: Tenant, pair = newPair()): Promise<SshKeyPair> {
  const { status } = await ask(jwt, 'POST', '/v1/me/ssh-keys', { public_key: `${lineOf(pair)} laptop` })
  expect(status).toBe(201)
  return pair
}

describe('keys of a user', () => {
  it('are added, listed and removed, each with an entry in the audit log', async () => {
    const pair = newPair()
    const fingerprint = fingerprintOf(pair.publicKey.blob)
    const { body: made } = await ask(alice.jwt, 'POST', '/v1/me/ssh-keys', {
      public_key: `${lineOf(pair)} my laptop\n`,
    })
    expect(made).toMatchObject({ name: 'my laptop', type: 'ssh-ed25519', fingerprint, last_used_at: null })
    const listed = await ask(alice.jwt, 'GET', `/v1/me/ssh-keys?fingerprint=${encodeURIComponent(fingerprint)}`)
    expect(listed.body).toEqual([made])
    expect((await ask(bob.jwt, 'GET', '/v1/me/ssh-keys')).body).toEqual([])
    expect(await ask(bob.jwt, 'DELETE', `/v1/me/ssh-keys/${made.id}`)).toMatchObject({ status: 404 })
    expect(await ask(alice.jwt, 'DELETE', `/v1/me/ssh-keys/${made.id}`)).toMatchObject({ status: 204 })
    expect(await ask(alice.jwt, 'DELETE', `/v1/me/ssh-keys/${made.id}`)).toMatchObject({ status: 404 })
    const { body: entries } = await ask(alice.jwt, 'GET', `/v1/audit?target=${encodeURIComponent(fingerprint)}`)
    expect(entries).toMatchObject([
      { action: 'ssh_key.removed', target_kind: 'ssh_key', actor: { type: 'user', id: alice.userId } },
      { action: 'ssh_key.created', details: { name: 'my laptop' } },
    ])
  })

  it('may belong to two users, and to one user once', async () => {
    const pair = await addKey(alice)
    await addKey(bob, pair)
    const again = await ask(alice.jwt, 'POST', '/v1/me/ssh-keys', { public_key: lineOf(pair) })
    expect(again).toMatchObject({ status: 409, body: { detail: 'you have added this key already' } })
  })

  it.each([
    [{}, 'public_key required'],
    [{ public_key: 7 }, 'public_key must be a string'],
    [{ public_key: 'x'.repeat(8193) }, 'public_key must be at most 8192 characters'],
    [{ public_key: 'ssh-rsa AAAA' }, 'public_key must be a public key of OpenSSH'],
    [{ public_key: '-----BEGIN OPENSSH PRIVATE KEY-----' }, 'public_key must be a public key of OpenSSH'],
    [{ public_key: 'x', name: 'a\0' }, 'name must not contain NUL or half a surrogate pair'],
  ])('are refused: %j', async (body, error) => {
    expect(await ask(alice.jwt, 'POST', '/v1/me/ssh-keys', body)).toMatchObject({ status: 400, body: { error } })
  })

  it('are at most 100', async () => {
    const carol = await harness.tenant(control, 'carol')
    await harness.pool.query(
      `insert into ssh_keys (user_id, name, blob, fingerprint)
       select $1, 'x', '\\x00', n::text from generate_series(1, 100) n`,
      [carol.userId],
    )
    const refused = await ask(carol.jwt, 'POST', '/v1/me/ssh-keys', { public_key: lineOf(newPair()) })
    expect(refused).toMatchObject({ status: 429, body: { error: 'max ssh keys reached', max: 100, active: 100 } })
  })

  it.each([
    ['POST', ''],
    ['GET', ''],
    ['DELETE', `/${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}`],
  ])('are not for API keys: %s', async (method, path) => {
    const answer = await ask(alice.key, method, `/v1/me/ssh-keys${path}`, method === 'POST' ? {} : undefined)
    expect(answer).toMatchObject({ status: 401, body: { detail: 'jwt required' } })
  })
})

describe('the gateway', () => {
  it('has one host key, which edges get and users see', async () => {
    const { body } = await ask(alice.key, 'GET', '/v1/ssh')
    expect(body).toMatchObject({ host: 'ssh.example.com', port: 2222 })
    expect(body.known_hosts).toBe(`[ssh.example.com]:2222 ${body.host_key}`)
    const edge = await ask(await edgeToken(), 'GET', EDGE_SSH_HOST_KEY_PATH)
    expect(edge.body.private_key).toContain('BEGIN OPENSSH PRIVATE KEY')
    const { rows } = await harness.pool.query<{ key: Buffer }>('select key from ssh_service_keys')
    expect(rows).toHaveLength(2)
    for (const { key } of rows) expect(key.toString('latin1')).not.toContain('PRIVATE')
  })

  it('shows edges’ routes to nobody else', async () => {
    for (const token of [alice.key, alice.jwt, await edgeToken('ssh')]) {
      expect((await ask(token, 'GET', EDGE_SSH_HOST_KEY_PATH)).status).toBe(404)
      expect((await ask(token, 'POST', EDGE_SSH_ADMISSIONS_PATH, {})).status).toBe(404)
    }
    expect((await ask(await edgeToken(), 'POST', EDGE_SSH_ADMISSIONS_PATH, {})).status).toBe(400)
  })
})

it('is not offered without an address', async () => {
  const without = await harness.control([agent], { edge_secret: secret.toString('base64') })
  expect(await call(without.url, 'GET', '/v1/ssh', { token: alice.key })).toMatchObject({ status: 404 })
  const key = await call(without.url, 'GET', EDGE_SSH_HOST_KEY_PATH, { token: await edgeToken() })
  expect(key).toMatchObject({ status: 404 })
  const body = { public_key: lineOf(newPair()) }
  expect(await call(without.url, 'POST', '/v1/ssh-certificates', { token: alice.key, body })).toMatchObject({
    status: 404,
  })
  await without.stop()
})
