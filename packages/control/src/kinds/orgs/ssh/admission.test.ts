// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { createHash, randomBytes } from 'node:crypto'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { EDGE_SSH_ADMISSIONS_PATH } from '@offshoot/contract/edge-ssh'
import { signCertificate, type SshKeyPair } from '@offshoot/kit/ssh/ssh-certificate'
import { fingerprintOf } from '@offshoot/kit/ssh/ssh-public-key'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { lineOf, newPair, proofOf, type SshAsked } from '../../../test/ssh-proof.ts'
import { certificateClaims } from './certificate-claims.ts'

const secret = randomBytes(32)
let harness: Harness
let agent: FakeAgent
let control: RunningControl
let alice: Tenant
let bob: Tenant
let sandboxId: string

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
  sandboxId = await createSandbox(alice)
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

const ask = (token: string, method: string, path: string, body?: unknown) =>
  call(control.url, method, path, { token, ...(body !== undefined && { body }) })

const createSandbox = async ({ key }: Tenant): Promise<string> =>
  (await ask(key, 'POST', '/v1/sandboxes', { template: 'base' })).body.id

const edgeToken = (kid = EDGE_KEY_ID) =>
  new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid }).setExpirationTime('60s').sign(secret)

async function addKey({ jwt }: Tenant, pair = newPair()): Promise<{ pair: SshKeyPair; id: string }> {
  const { status, body } = await ask(jwt, 'POST', '/v1/me/ssh-keys', { public_key: `${lineOf(pair)} laptop` })
  expect(status).toBe(201)
  return { pair, id: body.id }
}

async function certify(token: string, pair = newPair()): Promise<{ pair: SshKeyPair; certificate: string }> {
  const { status, body } = await ask(token, 'POST', '/v1/ssh-certificates', { public_key: lineOf(pair) })
  expect(status).toBe(201)
  return { pair, certificate: body.certificate }
}

type Asked = Omit<SshAsked, 'user'> & { readonly user?: string; readonly grant?: string }

async function admit(asked: Asked) {
  const body = {
    ...proofOf({ user: sandboxId, ...asked }),
    ip: '192.0.2.7',
    client: 'OpenSSH_9.2',
    ...(asked.grant && { grant: asked.grant }),
  }
  return ask(await edgeToken(), 'POST', EDGE_SSH_ADMISSIONS_PATH, body)
}

describe('admission', () => {
  it('of a member’s key grants one sandbox, and leaves an entry', async () => {
    const { pair } = await addKey(alice)
    const { status, body } = await admit({ pair })
    expect({ status, body }).toMatchObject({ status: 200, body: { sandbox_id: sandboxId, user: null } })
    expect(body.caller).toBe(`user ${alice.userId}`)
    expect(await admit({ pair, user: `www-data.${sandboxId}` })).toMatchObject({ body: { user: 'www-data' } })
    const { body: entries } = await ask(alice.jwt, 'GET', '/v1/audit?action=ssh.connected&limit=1')
    expect(entries[0]).toMatchObject({
      target: sandboxId,
      ip: '192.0.2.7',
      details: { fingerprint: fingerprintOf(pair.publicKey.blob), user: 'www-data', client: 'OpenSSH_9.2' },
    })
    const listed = await ask(alice.jwt, 'GET', '/v1/me/ssh-keys?limit=1')
    expect(listed.body[0].last_used_at).not.toBeNull()
  })

  it('refuses every wrong proof in the same way', async () => {
    const { pair } = await addKey(alice)
    const foreign = await createSandbox(bob)
    const gone = await createSandbox(alice)
    await ask(alice.key, 'DELETE', `/v1/sandboxes/${gone}`)
    const wrong: Asked[] = [
      { pair: newPair() },
      { pair, user: foreign },
      { pair, user: gone },
      { pair, user: '00000000-0000-4000-8000-000000000000' },
      { pair, user: 'root' },
      { pair, user: '' },
      { pair, user: `a b.${sandboxId}` },
      { pair, user: `${sandboxId}.${sandboxId}` },
      { pair, service: 'ssh-other' },
      { pair, session: Buffer.alloc(4) },
      { pair, change: (signed) => Buffer.concat([signed, Buffer.alloc(1)]) },
      { pair, change: (signed) => signed.subarray(0, -1) },
      { pair, change: (signed) => Buffer.from(signed.map((byte, at) => (at === 10 ? byte ^ 1 : byte))) },
      { pair, change: () => Buffer.alloc(0) },
      { pair, grant: 'x.y.z' },
    ]
    for (const asked of wrong) {
      expect(await admit(asked)).toMatchObject({ status: 404, body: { error: 'not found' } })
    }
  })

  it('ends when the key is removed or its user leaves the workspace', async () => {
    const { pair, id } = await addKey(alice)
    const { body } = await admit({ pair })
    expect(await admit({ pair, grant: body.grant })).toMatchObject({ status: 200 })
    await ask(alice.jwt, 'DELETE', `/v1/me/ssh-keys/${id}`)
    expect(await admit({ pair })).toMatchObject({ status: 404 })
    expect(await admit({ pair, grant: body.grant })).toMatchObject({ status: 404 })

    const dave = await harness.tenant(control, 'dave')
    const { pair: own } = await addKey(dave)
    const role = `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'member', now())`
    await harness.pool.query(role, [alice.workspaceId, dave.userId])
    expect(await admit({ pair: own })).toMatchObject({ status: 200 })
    await harness.pool.query('delete from member where "organizationId" = $1 and "userId" = $2', [
      alice.workspaceId,
      dave.userId,
    ])
    expect(await admit({ pair: own })).toMatchObject({ status: 404 })
  })

  it('with a grant is bound to its connection and its sandbox', async () => {
    const { pair } = await addKey(alice)
    const other = await createSandbox(alice)
    const { body } = await admit({ pair })
    expect(await admit({ pair, grant: body.grant, session: randomBytes(32) })).toMatchObject({ status: 404 })
    expect(await admit({ pair, grant: body.grant, user: other })).toMatchObject({ status: 404 })
  })

  it('of a suspended workspace is refused', async () => {
    const { pair } = await addKey(bob)
    const user = await createSandbox(bob)
    expect(await admit({ pair, user })).toMatchObject({ status: 200 })
    await harness.pool.query('update organization set suspended_at = now() where id = $1', [bob.workspaceId])
    expect(await admit({ pair, user })).toMatchObject({ status: 404 })
    await harness.pool.query('update organization set suspended_at = null where id = $1', [bob.workspaceId])
  })
})

describe('certificates', () => {
  it('of a JWT and of an API key open what these open', async () => {
    expect(await admit(await certify(alice.jwt))).toMatchObject({ body: { caller: `user ${alice.userId}` } })
    expect(await admit(await certify(alice.key))).toMatchObject({ status: 200 })
    expect(await admit(await certify(bob.key))).toMatchObject({ status: 404 })
    expect(await admit(await certify(bob.jwt))).toMatchObject({ status: 404 })
  })

  it('end with their API key', async () => {
    const { body: made } = await ask(alice.jwt, 'POST', '/v1/me/tokens', { name: 'short' })
    const asked = await certify(made.token)
    expect(await admit(asked)).toMatchObject({ body: { caller: `key ${made.prefix}` } })
    await ask(alice.jwt, 'DELETE', `/v1/me/tokens/${made.prefix}`)
    expect(await admit(asked)).toMatchObject({ status: 404 })
  })

  it('need the scopes of a command, also in a sandbox of a database', async () => {
    const key = async (...scopes: string[]) =>
      (await ask(alice.jwt, 'POST', '/v1/me/tokens', { name: 'x', scopes })).body.token as string
    const refused = await ask(await key('sandboxes:read'), 'POST', '/v1/ssh-certificates', { public_key: 'x' })
    expect(refused).toMatchObject({ status: 403, body: { detail: 'takes the scope sandboxes:write' } })
    const narrow = await certify(await key('sandboxes:write'))
    const wide = await certify(await key('sandboxes:write', 'databases:write'))
    expect(await admit(narrow)).toMatchObject({ status: 200 })
    const managed = await createSandbox(alice)
    const manager = `update sandboxes set managed_by = 'database' where id = $1`
    await harness.pool.query(manager, [managed])
    expect(await admit({ ...narrow, user: managed })).toMatchObject({ status: 404 })
    expect(await admit({ ...wide, user: managed })).toMatchObject({ status: 200 })
  })

  it('of a narrowed token act in its workspace, with its scopes', async () => {
    const narrowed = async (scopes: string[]) =>
      (await ask(alice.jwt, 'POST', '/v1/me/access-tokens', { scopes })).body.token as string
    expect(await admit(await certify(await narrowed(['sandboxes:write'])))).toMatchObject({ status: 200 })
    const read = await ask(await narrowed(['sandboxes:read']), 'POST', '/v1/ssh-certificates', {})
    expect(read).toMatchObject({ status: 403 })
  })

  it('are refused when they have expired, but not on a connection that lasts', async () => {
    const { pair, certificate } = await certify(alice.jwt)
    const { authority } = await control.control.sshKeys.get()
    const claims = certificateClaims.parse({
      method: 'user',
      user_id: alice.userId,
      session_id: null,
      workspace_id: null,
      scopes: null,
    })
    const now = Math.floor(Date.now() / 1000)
    const signed = (validAfter: number, validBefore: number, options = new Map<string, Buffer>(), by = authority) =>
      signCertificate(by, {
        key: pair.publicKey,
        serial: 1n,
        keyId: '',
        principals: [],
        validAfter,
        validBefore,
        criticalOptions: options,
        extensions: new Map([['caller@offshoot', Buffer.from(JSON.stringify(claims))]]),
      }).line
    expect(await admit({ pair, certificate: signed(now - 10, now + 10) })).toMatchObject({ status: 200 })
    const old = signed(now - 100, now - 10)
    expect(await admit({ pair, certificate: old })).toMatchObject({ status: 404 })
    const session = randomBytes(32)
    const agentClient = control.control.fleet.agents[0]?.client
    const { signed: bytes } = proofOf({ pair, certificate: old, session, user: sandboxId })
    const name = createHash('sha256').update(Buffer.from(bytes, 'base64')).digest('base64url')
    const grant = await agentClient?.sshGrant(sandboxId, alice.workspaceId, name)
    expect(await admit({ pair, certificate: old, session, ...(grant && { grant }) })).toMatchObject({ status: 200 })
    for (const wrong of [
      signed(now + 1000, now + 2000),
      signed(now - 10, now + 10, new Map([['force-command', Buffer.from('true')]])),
      signed(now - 10, now + 10, new Map(), newPair()),
    ])
      expect(await admit({ pair, certificate: wrong })).toMatchObject({ status: 404 })
    expect(await admit({ pair: newPair(), certificate })).toMatchObject({ status: 404 })
  })

  it('are refused for keys that are none', async () => {
    const refused = await ask(alice.key, 'POST', '/v1/ssh-certificates', { public_key: 'ssh-ed25519 AAAA' })
    expect(refused).toMatchObject({ status: 400, body: { error: 'public_key must be a public key of OpenSSH' } })
  })
})
