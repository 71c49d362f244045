import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { EDGE_NAME, hostName } from '@offshoot/contract/fleet-identity'
import { EDGE_CERTIFICATE_PATH, EDGE_HOSTS_PATH } from '@offshoot/contract/edge-host'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { findFreePort } from '@offshoot/kit/free-port'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { CertificateAuthority, makeAuthority } from '@offshoot/kit/x509/certificate-authority'
import { SignJWT } from 'jose'
import { request as undiciRequest } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adoptStatus } from '../../../fleet/reconcile-statements.ts'
import { applyStatus, applyStatuses } from '../../../fleet/record-statements.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAgentState } from '../../../test/fake-agent-state.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const EDGE_SECRET = Buffer.alloc(32, 3).toString('base64')

/** The request with another last byte, which is one of its signature. */
function forged(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64')
  der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
}

const nameIn = (pem: string) => new X509Certificate(pem).subjectAltName

function edgeToken(secret = EDGE_SECRET): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: 'HS256', kid: EDGE_KEY_ID })
    .setIssuedAt()
    .setExpirationTime('60s')
    .sign(Buffer.from(secret, 'base64'))
}

describe('a host that joins', () => {
  let harness: Harness
  let control: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([], { ...OPERATOR, edge_secret: EDGE_SECRET })
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(() => harness.stop())

  const makeToken = async () =>
    (await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })).body.token as string

  it('needs a token, which only operators make, and of which the database has the hash alone', async () => {
    for (const token of [alice.key, alice.jwt])
      expect((await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token })).status).toBe(401)
    const { status, body } = await call(control.url, 'POST', '/v1/admin/hosts/tokens', { token: OPERATOR_KEY })
    expect({ status, body }).toEqual({
      status: 201,
      body: { token: expect.stringMatching(/^oht_[\w-]{43}$/), expires_at: expect.any(String) },
    })
    const { rows } = await harness.pool.query('select * from host_tokens where hash = $1', [
      createHash('sha256').update(body.token).digest(),
    ])
    expect(rows).toMatchObject([{ public_key: null, expires_at: new Date(body.expires_at) }])
    expect(JSON.stringify(rows)).not.toContain(body.token)
    const { rows: entries } = await harness.pool.query(
      `select details from audit_log where action = 'host.token_created' and details->>'expires_at' = $1`,
      [body.expires_at],
    )
    expect(entries).toHaveLength(1)
  })

  it('gets a certificate for its own key and name, and secrets that no other host has', async () => {
    const host = new JoiningHost()
    const { status, body } = await host.join(control, await makeToken())
    expect(status).toBe(200)
    const certificate = new X509Certificate(body.certificate)
    expect(certificate.subjectAltName).toBe(`DNS:${hostName(body.host_id)}`)
    expect(certificate.verify(new X509Certificate(body.authority).publicKey)).toBe(true)
    const hours = (certificate.validToDate.getTime() - Date.now()) / 3_600_000
    expect(Math.round(hours)).toBe(24)
    const other = await new JoiningHost().join(control, await makeToken())
    const shared = [body.secret, body.edge_secret, other.body.secret, other.body.edge_secret]
    expect(new Set(shared).size).toBe(4)
    const { rows } = await harness.pool.query('select secret, edge_secret from joined_hosts')
    const stored: Buffer[] = rows.flatMap((row: Record<string, Buffer>) => Object.values(row))
    expect(shared.some((secret) => stored.some((each) => each.includes(secret)))).toBe(false)
    const { rows: entries } = await harness.pool.query(
      `select target_kind, details from audit_log where action = 'host.joined' and target = $1`,
      [body.host_id],
    )
    expect(entries).toEqual([{ target_kind: 'host', details: { url: host.url } }])
  })

  it('uses a token once, but may ask again with the same key until it expires', async () => {
    const [token, host] = [await makeToken(), new JoiningHost()]
    const first = await host.join(control, token)
    const again = await host.join(control, token)
    expect({ ...again.body, certificate: '' }).toEqual({ ...first.body, certificate: '' })
    expect((await new JoiningHost().join(control, token)).status).toBe(401)
    const contested = await makeToken()
    const all = await Promise.all([0, 1, 2, 3].map(() => new JoiningHost().join(control, contested)))
    expect(all.map((each) => each.status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401])
    await harness.pool.query(`update host_tokens set expires_at = now() - interval '1 second'`)
    expect((await host.join(control, token)).status).toBe(401)
    expect((await new JoiningHost().join(control, `oht_${'x'.repeat(43)}`)).status).toBe(401)
    expect((await new JoiningHost().join(control, OPERATOR_KEY)).status).toBe(401)
  })

  it('is refused with an unusable request or address, and its token stays', async () => {
    const token = await makeToken()
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    for (const body of [
      { request: 'nothing' },
      { request: rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString() },
      { request: forged(await certificateRequest(makePrivateKey())) },
      { url: 'http://192.0.2.7:7443' },
      { url: 'https://192.0.2.7:7443/path' },
      { url: 'https://user@192.0.2.7:7443' },
      { other: 1 },
    ]) {
      expect((await new JoiningHost().join(control, token, body)).status).toBe(400)
    }
    expect((await new JoiningHost().join(control, token)).status).toBe(200)
  })

  it('renews its certificate with its present key, and with nothing else', async () => {
    const [host, other] = [new JoiningHost(), new JoiningHost()]
    await host.join(control, await makeToken())
    await other.join(control, await makeToken())
    const { status, body } = await host.renew(control)
    expect(status).toBe(200)
    expect(nameIn(body.certificate)).toBe(nameIn(host.identity.cert))
    expect(body.certificate).not.toBe(host.identity.cert)
    const foreign = await CertificateAuthority.open(await makeAuthority('Offshoot fleet'))
    const name = hostName(host.joined?.host_id ?? '')
    const foreignOne = await foreign.sign(await certificateRequest(host.key), name, 3600)
    const authority = await control.control.fleetAuthority.get()
    const daysOld = async (days: number) => authority.sign(await certificateRequest(host.key), name, -days * 86_400)
    expect((await host.renew(control, { certificate: await daysOld(29) })).status).toBe(200)
    const edge = await call(control.url, 'POST', EDGE_CERTIFICATE_PATH, {
      token: await edgeToken(),
      body: { request: await certificateRequest(host.key) },
    })
    for (const refused of [
      { certificate: other.identity.cert },
      { certificate: foreignOne },
      { certificate: await daysOld(31) },
      { certificate: edge.body.certificate },
      { certificate: host.identity.ca },
      { audience: 'somebody else' },
      { expires: '-1h' },
    ]) {
      expect((await host.renew(control, refused)).status).toBe(401)
    }
  })

  it('is refused once it has been removed', async () => {
    const [host, token] = [new JoiningHost(), await makeToken()]
    const { body } = await host.join(control, token)
    const remove = () => call(control.url, 'DELETE', `/v1/admin/hosts/${body.host_id}`, { token: OPERATOR_KEY })
    expect((await remove()).status).toBe(204)
    expect((await remove()).status).toBe(404)
    expect((await host.renew(control)).status).toBe(401)
    expect((await host.join(control, token)).status).toBe(401)
  })

  it('takes sandboxes over TLS, until it is removed', async () => {
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    const { body } = await host.join(control, await makeToken())
    const state = new FakeAgentState(body.host_id)
    const agent = await FakeAgent.start({ state, port, tls: host.identity, secret: body.secret })
    try {
      await eventually(() => control.control.fleet.byId(body.host_id)?.isReachable)
      const made = await call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })
      expect(made.status).toBe(201)
      agent.onUpgrade = (_request, socket) =>
        socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: x\r\n\r\nhello')
      const client = control.control.fleet.byId(body.host_id)?.client
      const upgraded = await client?.upgrade({
        path: '/v1/sandboxes/x/ports/1/stream',
        workspaceId: alice.workspaceId,
        requestId: 'r',
        headers: { connection: 'Upgrade', upgrade: 'x' },
        signal: AbortSignal.timeout(30_000),
      })
      expect(upgraded?.kind).toBe('upgraded')
      const remove = (query = '') =>
        call(control.url, 'DELETE', `/v1/admin/hosts/${body.host_id}${query}`, { token: OPERATOR_KEY })
      const refused = await remove()
      expect([refused.status, refused.body.detail]).toEqual([
        409,
        'the host is not empty (sandboxes: 1); a reason removes it nevertheless',
      ])
      for (const query of ['?reason=', `?reason=${'x'.repeat(501)}`, '?force=true'])
        expect((await remove(query)).status).toBe(400)
      expect(control.control.fleet.byId(body.host_id)?.isReachable).toBe(true)
      expect((await remove('?reason=its%20disk%20died')).status).toBe(204)
      await eventually(() => control.control.fleet.byId(body.host_id) === undefined)
      const path = `/v1/sandboxes/${made.body.id}`
      expect((await call(control.url, 'GET', path, { token: alice.key })).body.status).toBe('failed')
      // A reconciliation, a request and the follower of the log may have begun before the removal, and write after it.
      const late = { id: made.body.id, agent_id: body.host_id, seq: 99, status: 'running' }
      await adoptStatus(harness.pool, late.id, late.agent_id, late.seq, late.status, late.seq)
      await applyStatus(harness.pool, late.id, late.agent_id, late.seq, late.status, null, null, null)
      await applyStatuses(harness.pool, JSON.stringify([late]))
      expect((await call(control.url, 'GET', path, { token: alice.key })).body.status).toBe('failed')
      const told = await call(control.url, 'GET', '/v1/events?type=recover.orphaned', { token: alice.key })
      expect(told.body).toMatchObject([{ sandbox_id: made.body.id, message: 'the host of the VM was removed' }])
    } finally {
      await agent.kill()
    }
  })

  it('cannot speak for another host', async () => {
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    const { body } = await host.join(control, await makeToken())
    const agent = await FakeAgent.start({ port, tls: host.identity, secret: body.secret })
    try {
      await eventually(() => agent.requests.length > 1)
      expect(control.control.fleet.reachable).not.toContain(agent.state.agentId)
    } finally {
      await agent.kill()
      await call(control.url, 'DELETE', `/v1/admin/hosts/${body.host_id}`, { token: OPERATOR_KEY })
    }
  })

  it('is told to edges as lost while it is, and as before when it is heard again', { tags: ['faults'] }, async () => {
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    const { body } = await host.join(control, await makeToken())
    const start = { state: new FakeAgentState(body.host_id), port, tls: host.identity, secret: body.secret }
    const isReachable = () => control.control.fleet.byId(body.host_id)?.isReachable
    const toldLost = () => control.control.joinedHosts.forEdges.find(({ id }) => id === body.host_id)?.is_lost
    const agent = await FakeAgent.start(start)
    await eventually(isReachable)
    expect(toldLost()).toBeUndefined()
    await agent.kill()
    await eventually(() => isReachable() === false)
    await harness.pool.query('update agents set lost_at = now() where id = $1', [body.host_id])
    await eventually(toldLost)
    const again = await FakeAgent.start(start)
    await eventually(() => toldLost() === undefined)
    await again.kill()
    await call(control.url, 'DELETE', `/v1/admin/hosts/${body.host_id}`, { token: OPERATOR_KEY })
    expect(control.control.joinedHosts.forEdges.map(({ id }) => id)).not.toContain(body.host_id)
  })

  it('is told to edges, who get a certificate of their own, and to nobody else', async () => {
    const host = new JoiningHost()
    const { body: joined } = await host.join(control, await makeToken())
    const answer = await undiciRequest(`${control.url}${EDGE_HOSTS_PATH}`, {
      headers: { authorization: `Bearer ${await edgeToken()}` },
    })
    const seen = (async () => {
      for await (const batch of readServerSentEvents(answer.body)) {
        const hosts = batch.flatMap(({ data }) => JSON.parse(data))
        const found = hosts.find(({ id }) => id === joined.host_id)
        if (found !== undefined) return found
      }
      return null
    })()
    expect(await seen).toEqual({ id: joined.host_id, url: host.url, secret: joined.edge_secret })
    answer.body.destroy()
    const body = { request: await certificateRequest(makePrivateKey()) }
    const { body: signed } = await call(control.url, 'POST', EDGE_CERTIFICATE_PATH, { token: await edgeToken(), body })
    expect(nameIn(signed.certificate)).toBe(`DNS:${EDGE_NAME}`)
    for (const token of [
      await edgeToken(joined.edge_secret),
      await edgeToken(joined.secret),
      OPERATOR_KEY,
      alice.jwt,
    ]) {
      expect((await call(control.url, 'POST', EDGE_CERTIFICATE_PATH, { token, body })).status).toBe(404)
      expect((await call(control.url, 'GET', EDGE_HOSTS_PATH, { token })).status).toBe(404)
    }
  })
})
