import { randomUUID, X509Certificate } from 'node:crypto'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { EDGE_CERTIFICATE_PATH, EDGE_VERSION_PATH } from '@offshoot/contract/edge-host'
import { HOST_VERSION_PATH } from '@offshoot/contract/host-enrolment'
import { findFreePort } from '@offshoot/kit/free-port'
import { makeAuthority } from '@offshoot/kit/x509/certificate-authority'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { certificatesIn, isIssuedBy } from '@offshoot/kit/issued-certificates'
import { SignJWT } from 'jose'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keepAuthority } from '../../../fleet/authority-rotation.ts'
import { ProcessLock } from '../../../platform/db/process-lock.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAgentState } from '../../../test/fake-agent-state.ts'
import { type Answer, call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const EDGE_SECRET = Buffer.alloc(32, 3).toString('base64')
const AUTHORITY = '/v1/admin/hosts/authority'

describe('the authority of the fleet', () => {
  let harness: Harness
  let control: RunningControl
  let alice: Tenant
  let agents: FakeAgent[]

  beforeEach(async () => {
    agents = []
    harness = await Harness.start()
    control = await harness.control([], { ...OPERATOR, edge_secret: EDGE_SECRET })
    alice = await harness.tenant(control, 'alice')
  })

  afterEach(async () => {
    for (const agent of agents) await agent.kill()
    await harness.stop()
  })

  const asOperator = (method: string, path: string, body?: object) =>
    call(control.url, method, path, { token: OPERATOR_KEY, ...(body && { body }) })
  const rotate = () => asOperator('POST', `${AUTHORITY}/rotate`)
  const advance = (body: object = { reason: 'its key leaked' }) => asOperator('POST', `${AUTHORITY}/advance`, body)
  const state = async () => (await asOperator('GET', AUTHORITY)).body
  const create = () => call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })
  const round = () => keepAuthority(control.control, 'round')

  const join = async () => {
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    const { body } = await asOperator('POST', '/v1/admin/hosts/tokens')
    expect((await host.join(control, body.token)).status).toBe(200)
    const { host_id: id = '', secret = '' } = host.joined ?? {}
    const agent = await FakeAgent.start({ state: new FakeAgentState(id), port, tls: host.identity, secret })
    agents.push(agent)
    await isReached(id)
    return { id, host, agent }
  }
  const isReached = (id: string, by = control) => eventually(() => by.control.fleet.byId(id)?.isReachable)
  const renew = async ({ host, agent }: { host: JoiningHost; agent: FakeAgent }): Promise<Answer> => {
    const answer = await host.takeRenewed(control)
    agent.present(host.identity)
    return answer
  }
  /** Rounds until the step is over. */
  const untilStep = (step: string) =>
    eventually(async () => {
      await round()
      const { step: now, waiting } = await state()
      return now === step && waiting === 0
    })

  const edgeAsks = async (path: string, body: object) => {
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256', kid: EDGE_KEY_ID })
      .setIssuedAt()
      .setExpirationTime('60s')
      .sign(Buffer.from(EDGE_SECRET, 'base64'))
    return call(control.url, 'POST', path, { token, body })
  }

  it('is shown to operators, of whom viewers change nothing, and exists with the first host', async () => {
    expect(await state()).toEqual({
      step: 'settled',
      version: 0,
      current: null,
      other: null,
      waiting: 0,
      waits_for: [],
    })
    const refused = await rotate()
    expect([refused.status, refused.body.detail]).toEqual([409, 'no host has joined, so there is no authority'])
    await join()
    const { current } = await state()
    const authority = new X509Certificate((await control.control.fleetAuthority.get()).bundle)
    expect(current.sha256).toBe(authority.fingerprint256.replaceAll(':', '').toLowerCase())
    expect(new Date(current.expires_at)).toEqual(authority.validToDate)
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/rotate'],
      ['POST', '/advance'],
    ] as const)
      expect((await call(control.url, method, `${AUTHORITY}${path}`, { token: alice.key })).status).toBe(401)
    expect((await call(control.url, 'GET', HOST_VERSION_PATH)).body).toEqual({ version: 0 })
  })

  it(
    'is replaced step by step, with two control processes, while everything goes on',
    { tags: ['faults'] },
    async () => {
      const second = await harness.control([], { ...OPERATOR, edge_secret: EDGE_SECRET })
      const joined = await join()
      const [old] = certificatesIn(joined.host.identity.ca)
      const before = joined.host.identity
      const begun = await Promise.all([rotate(), rotate(), rotate()])
      expect(begun.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409, 409])
      await round()
      expect(await state()).toMatchObject({ step: 'introducing', version: 1 })
      expect((await state()).waits_for).toContainEqual({ kind: 'host', id: joined.id, is_lost: false })
      expect((await call(control.url, 'GET', HOST_VERSION_PATH)).body).toEqual({ version: 1 })
      await renew(joined)
      expect(certificatesIn(joined.host.identity.ca)).toHaveLength(2)
      expect(isIssuedBy(new X509Certificate(joined.host.identity.cert), [old as X509Certificate])).toBe(true)
      expect((await create()).status).toBe(201)
      await eventually(async () => {
        await round()
        return (await state()).step === 'replacing'
      })
      const { rows } = await harness.pool.query('select other_key from fleet_authority')
      expect(rows).toEqual([{ other_key: null }])
      await round()
      expect((await state()).waits_for).toContainEqual({ kind: 'host', id: joined.id, is_lost: false })
      expect((await create()).status).toBe(201)
      // A process ends between two steps. The other one goes on.
      await second.stop()
      await renew(joined)
      expect(isIssuedBy(new X509Certificate(joined.host.identity.cert), [old as X509Certificate])).toBe(false)
      await eventually(async () => {
        await round()
        return (await state()).step === 'settled'
      })
      await renew(joined)
      await untilStep('settled')
      expect(certificatesIn(joined.host.identity.ca)).toHaveLength(1)
      await isReached(joined.id)
      expect((await create()).status).toBe(201)
      const stale = await joined.host.renew(control, { certificate: before.cert })
      expect([stale.status, stale.body.detail]).toEqual([
        401,
        'the authority of its certificate is not trusted (any more): the host must join again',
      ])
      // Whoever has the old key cannot pretend to be the host any more.
      const { port, state: disk, secret } = joined.agent
      await joined.agent.kill()
      const impostor = await FakeAgent.start({
        state: disk,
        port,
        tls: { ...before, ca: joined.host.identity.ca },
        secret,
      })
      agents = [impostor]
      expect((await create()).status).toBe(502)
      expect(impostor.requests).toEqual([])
      const { rows: entries } = await harness.pool.query(
        `select action, target, actor_type from audit_log where action like 'authority.%' order by created_at`,
      )
      expect(entries).toEqual([
        { action: 'authority.rotation_begun', target: '1', actor_type: 'operator' },
        { action: 'authority.advanced', target: '2', actor_type: 'service' },
        { action: 'authority.advanced', target: '3', actor_type: 'service' },
      ])
    },
  )

  it(
    'stays beside the new one while a host does not renew, until an operator goes on',
    { tags: ['long'] },
    async () => {
      const [first, second] = [await join(), await join()]
      expect((await advance()).status).toBe(409)
      await rotate()
      await renew(first)
      await eventually(async () => {
        await round()
        return (await state()).waits_for.every(({ id }: { id: string }) => id === second.id)
      })
      await round()
      expect(await state()).toMatchObject({ step: 'introducing', waiting: 1 })
      for (const body of [{}, { reason: '' }, { reason: 'x'.repeat(501) }, { reason: 1 }, { reason: 'x', force: true }])
        expect((await advance(body)).status).toBe(400)
      expect((await advance()).body).toMatchObject({ step: 'replacing', version: 2 })
      await renew(first)
      await round()
      expect((await advance()).body).toMatchObject({ step: 'settled', version: 3 })
      expect((await advance()).status).toBe(409)
      await eventually(() => control.control.fleet.byId(second.id)?.isReachable === false)
      expect((await second.host.renew(control)).body.detail).toMatch(/must join again/)
      await renew(first)
      await isReached(first.id)
      const { rows } = await harness.pool.query(
        `select details from audit_log where action = 'authority.advanced' order by created_at`,
      )
      expect(rows).toEqual([{ details: { reason: 'its key leaked' } }, { details: { reason: 'its key leaked' } }])
    },
  )

  it(
    'waits for edges, for those of an earlier version, and for control processes of an earlier version',
    { tags: ['long'] },
    async () => {
      const joined = await join()
      const body = { request: await certificateRequest(makePrivateKey()) }
      const [edge, request] = [randomUUID(), body]
      await edgeAsks(`${EDGE_CERTIFICATE_PATH}?edge=${edge}`, request)
      await edgeAsks(EDGE_VERSION_PATH, { id: edge, version: 0 })
      await edgeAsks(EDGE_CERTIFICATE_PATH, request)
      for (const wrong of [
        { id: 'x', version: 0 },
        { id: edge, version: -1 },
        { id: edge },
        { id: edge, version: 0, x: 1 },
      ])
        expect((await edgeAsks(EDGE_VERSION_PATH, wrong)).status).toBe(400)
      expect((await edgeAsks(`${EDGE_CERTIFICATE_PATH}?edge=x`, request)).status).toBe(400)
      for (const token of [undefined, OPERATOR_KEY, alice.key])
        expect((await call(control.url, 'POST', EDGE_VERSION_PATH, { ...(token && { token }), body })).status).toBe(404)
      const early = new Client(harness.settings.database)
      await early.connect()
      try {
        await early.query('select pg_advisory_lock($1, 999)', [ProcessLock.PROCESS])
        await rotate()
        await renew(joined)
        const waiting = async () => {
          await round()
          const { waits_for: waited } = await state()
          return waited
            .map(({ kind }: { kind: string }) => kind)
            .toSorted()
            .join()
        }
        await eventually(async () => (await waiting()) === 'control,edge,edge')
        await early.end()
        await eventually(async () => (await waiting()) === 'edge,edge')
        expect((await edgeAsks(EDGE_VERSION_PATH, { id: edge, version: 1 })).body).toEqual({ version: 1 })
        await eventually(async () => (await waiting()) === 'edge')
        await harness.pool.query(`update certified_processes set until = now() where role = 'edge' and id <> $1`, [
          edge,
        ])
        await round()
        expect(await state()).toMatchObject({ step: 'replacing', version: 2 })
      } finally {
        await early.end().catch(() => undefined)
      }
    },
  )

  it('is replaced without being asked long before it expires', { tags: ['faults'] }, async () => {
    const { certificate, key } = await makeAuthority('Offshoot fleet', 364 * 86_400)
    const sealed = control.control.fleetSeal.close(key)
    await harness.pool.query('insert into fleet_authority (certificate, key) values ($1, $2)', [certificate, sealed])
    await Promise.all([round(), round()])
    expect(await state()).toMatchObject({ step: expect.stringMatching(/ing$/) })
    await untilStep('settled')
    const { current } = await state()
    expect(Date.parse(current.expires_at) - Date.now()).toBeGreaterThan(9 * 365 * 86_400_000)
    await round()
    expect(await state()).toMatchObject({ step: 'settled', version: 3 })
  })
})
