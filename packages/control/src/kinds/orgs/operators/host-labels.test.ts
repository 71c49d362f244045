import type { WorkspaceId } from '@offshoot/contract/ids'
import { findFreePort } from '@offshoot/kit/free-port'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAgentState } from '../../../test/fake-agent-state.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

const CREATES = 6
const LONG = 'x'.repeat(64)
const LACKS = 'the host lacks the labels or the zone that the workspace requires'
const NONE_HAS = 'no host with the labels and the zone that the workspace requires can take it'

const idOf = (agent: FakeAgent | undefined) => agent?.state.agentId ?? ''

describe('labels and zones of hosts', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let control: RunningControl
  let alice: Tenant
  let first: string
  let second: string

  beforeAll(async () => {
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, OPERATOR)
    alice = await harness.tenant(control, 'alice')
    first = idOf(agents[0])
    second = idOf(agents[1])
  })

  afterEach(async () => {
    await requires({})
    for (const agent of agents) await describeHost(idOf(agent), { labels: {}, zone: null })
  })

  afterAll(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
  })

  const operate = async (method: string, path: string, body?: unknown, on = control) =>
    call(on.url, method, `/v1/admin/${path}`, { token: OPERATOR_KEY, ...(body !== undefined && { body }) })
  const describeHost = async (id: string, body: unknown, on = control) => operate('PATCH', `hosts/${id}`, body, on)
  const requires = async (body: unknown, { workspaceId } = alice) =>
    operate('POST', `orgs/${workspaceId}/placement`, body)
  const ask = async (method: string, path: string, body?: unknown, on = control) =>
    call(on.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const create = async (body: object = { template: 'base' }, on = control) => ask('POST', '/v1/sandboxes', body, on)
  const hostOf = async (id: string) => {
    const { rows } = await harness.pool.query<{ agent_id: string }>('select agent_id from sandboxes where id = $1', [
      id,
    ])
    return rows[0]?.agent_id ?? ''
  }
  const hostsOfNew = async (on = control) => {
    const made = await Promise.all(Array.from({ length: CREATES }, async () => create(undefined, on)))
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
    return [...new Set(await Promise.all(made.map(async ({ body }) => hostOf(body.id))))]
  }

  it('are set each by itself, shown, and recorded once for each change', async () => {
    const labels = { disk: 'nvme', 'example.com/line': 'B-2' }
    expect((await describeHost(first, { labels })).body).toMatchObject({ id: first, labels, zone: null })
    expect((await describeHost(first, { zone: 'rack-1' })).body).toMatchObject({ labels, zone: 'rack-1' })
    expect((await describeHost(first, {})).body).toMatchObject({ labels, zone: 'rack-1' })
    expect((await describeHost(first, { labels, zone: 'rack-1' })).status).toBe(200)
    expect((await describeHost(first, { labels: { disk: 'ssd' }, zone: null })).body).toMatchObject({
      labels: { disk: 'ssd' },
      zone: null,
    })
    expect((await operate('GET', `hosts/${first}`)).body.labels).toEqual({ disk: 'ssd' })
    expect((await operate('GET', 'hosts?label=disk:ssd')).body).toMatchObject([{ id: first }])
    const { rows } = await harness.pool.query(
      `select details from audit_log where action = 'host.updated' and target = $1 order by created_at`,
      [first],
    )
    expect(rows.map(({ details }) => details)).toEqual([
      { labels, zone: null },
      { labels, zone: 'rack-1' },
      { labels: { disk: 'ssd' }, zone: null },
    ])
  })

  it.each([
    [{ labels: 'a' }, 'labels must be a string map'],
    [{ labels: [] }, 'labels must be a string map'],
    [{ labels: { a: 1 } }, 'labels values must be a string'],
    [{ labels: { a: null } }, 'labels values must be a string'],
    [{ labels: { a: LONG } }, 'labels values must be at most 63 characters'],
    [{ labels: { a: '' } }, 'labels values must be letters, digits and . _ / - between them'],
    [{ labels: { a: 'b c' } }, 'labels values must be letters, digits and . _ / - between them'],
    [{ labels: { [LONG]: 'a' } }, 'labels keys must be at most 63 characters'],
    [{ labels: { '': 'a' } }, 'labels keys must be lower-case letters, digits and . _ / - between them'],
    [{ labels: { Disk: 'a' } }, 'labels keys must be lower-case letters, digits and . _ / - between them'],
    [{ labels: { 'a:b': 'a' } }, 'labels keys must be lower-case letters, digits and . _ / - between them'],
    [
      { labels: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`k${n}`, 'v'])) },
      'labels must have at most 32 entries',
    ],
    [{ zone: 1 }, 'zone must be a string'],
    [{ zone: '' }, 'zone must be letters, digits and . _ / - between them'],
    [{ zone: LONG }, 'zone must be at most 63 characters'],
    [{ zone: 'a\0' }, 'zone must be letters, digits and . _ / - between them'],
    [[], 'invalid json'],
  ])('are refused as %j', async (body, error) => {
    expect(await describeHost(first, body)).toMatchObject({ status: 400, body: { error } })
    expect((await operate('GET', `hosts/${first}`)).body).toMatchObject({ labels: {}, zone: null })
  })

  it('may be as many and as long as the limits', async () => {
    const longest = 'x'.repeat(63)
    const labels = Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`k${n}`, 'v']))
    const body = { labels: { ...labels, [longest]: longest }, zone: longest }
    expect(await describeHost(first, body)).toMatchObject({ status: 200, body })
  })

  it.each(['disk', ':nvme', 'disk:', 'disk:a b', 'disk:nvme,', ''])('refuse the filter %j', async (label) => {
    expect(await operate('GET', `hosts?label=${encodeURIComponent(label)}`)).toMatchObject({
      status: 400,
      body: { error: 'label must be KEY:VALUE, or several of them with commas' },
    })
  })

  it('are changed by operators only, and only of hosts that are known', async () => {
    for (const token of [alice.key, alice.jwt]) {
      const answer = await call(control.url, 'PATCH', `/v1/admin/hosts/${first}`, { token, body: { zone: 'a' } })
      expect(answer.status).toBe(401)
    }
    const { body: viewer } = await operate('POST', 'operators', { name: 'v', role: 'viewer' })
    const { body } = await operate('POST', `operators/${viewer.id}/keys`, { name: 'k' })
    const refused = await call(control.url, 'PATCH', `/v1/admin/hosts/${first}`, {
      token: body.key,
      body: { zone: 'a' },
    })
    expect(refused.status).toBe(403)
    // With several hosts, `self` names none.
    for (const unknown of ['self', 'nothing', '00000000-0000-4000-8000-000000000000'])
      expect((await describeHost(unknown, { zone: 'a' })).status).toBe(404)
    expect((await operate('GET', `hosts/${first}`)).body.zone).toBeNull()
  })

  it('choose the hosts of a workspace that requires them, and of no other', async () => {
    await describeHost(first, { labels: { disk: 'nvme', gpu: 'none' }, zone: 'east' })
    await describeHost(second, { labels: { disk: 'nvme' }, zone: 'west' })
    const { status, body: org } = await requires({ labels: { disk: 'nvme', gpu: 'none' } })
    expect([status, org.placement.labels, org.placement.zone]).toEqual([200, { disk: 'nvme', gpu: 'none' }, null])
    expect(await hostsOfNew()).toEqual([first])
    await requires({ labels: { disk: 'nvme' }, zone: 'west' })
    expect(await hostsOfNew()).toEqual([second])
    const { body: volume } = await ask('POST', '/v1/volumes', { name: 'west' })
    expect(volume.agent_id).toBe(second)
    await describeHost(second, { labels: { disk: 'ssd' } })
    const refused = await create()
    expect([refused.status, refused.body.error, refused.body.detail]).toEqual([
      502,
      'no available compute node',
      NONE_HAS,
    ])
    expect((await ask('POST', '/v1/volumes', { name: 'nowhere' })).body.detail).toBe(NONE_HAS)
    const bob = await harness.tenant(control, 'bob')
    const ofBob = await call(control.url, 'POST', '/v1/sandboxes', { token: bob.key, body: { template: 'base' } })
    expect(ofBob.status).toBe(201)
    const { body: cleared } = await requires({})
    expect(cleared.placement).toEqual({ labels: {}, zone: null })
    expect((await create()).status).toBe(201)
  })

  it('are refused as a requirement like those of a host', async () => {
    const refusals = [await requires({ labels: ['a'] }), await requires({ zone: 1 })]
    expect(refusals.map(({ status, body: { error } }) => [status, error])).toEqual([
      [400, 'labels must be a string map'],
      [400, 'zone must be a string'],
    ])
  })

  it('refuse what can be on a host only that lacks them, and leave it what it has', async () => {
    const { body: older } = await create()
    const host = await hostOf(older.id)
    const { body: snapshot } = await ask('POST', `/v1/sandboxes/${older.id}/snapshots`, {})
    await requires({ labels: { disk: 'nvme' } })
    const refusals = [
      await ask('POST', `/v1/sandboxes/${older.id}/fork`, {}),
      await create({ from_snapshot: snapshot.id }),
    ]
    expect(refusals.map(({ status, body: { detail } }) => [status, detail])).toEqual(refusals.map(() => [502, LACKS]))
    expect((await ask('GET', `/v1/sandboxes/${older.id}`)).body.status).toBe('running')
    await describeHost(host, { labels: { disk: 'nvme' } })
    expect((await create({ from_snapshot: snapshot.id })).status).toBe(201)
  })

  it('are known to every control process, also to one that starts later', { tags: ['long'] }, async () => {
    const other = await harness.control(agents, OPERATOR)
    await describeHost(first, { labels: { disk: 'nvme' } })
    await requires({ labels: { disk: 'nvme' } })
    const { rules, agents: known } = other.control.fleet
    // It reads the labels and the requirement in two statements, in any order.
    await eventually(() => rules.allowed(known, alice.workspaceId as WorkspaceId).length === 1)
    expect(await hostsOfNew(other)).toEqual([first])
    const later = await harness.control(agents, OPERATOR)
    expect(await hostsOfNew(later)).toEqual([first])
    await other.stop()
    await later.stop()
  })

  it('are given when a host joins, and changed later like those of any host', { tags: ['faults'] }, async () => {
    const { body: made } = await operate('POST', 'hosts/tokens')
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    expect(await host.join(control, made.token, { labels: { Disk: 'a' } })).toMatchObject({ status: 400 })
    expect(await host.join(control, made.token, { zone: 7 })).toMatchObject({ status: 400 })
    await host.join(control, made.token, { labels: { disk: 'nvme' }, zone: 'rack-7' })
    const id = host.joined?.host_id ?? ''
    const agent = await FakeAgent.start({
      state: new FakeAgentState(id),
      port,
      tls: host.identity,
      secret: host.joined?.secret ?? '',
    })
    await eventually(() => control.control.fleet.byId(id)?.isReachable)
    expect((await operate('GET', `hosts/${id}`)).body).toMatchObject({ labels: { disk: 'nvme' }, zone: 'rack-7' })
    const { body: entries } = await operate('GET', `audit?action=host.joined&target=${id}`)
    expect(entries).toMatchObject([{ details: { labels: { disk: 'nvme' }, zone: 'rack-7' } }])
    await requires({ zone: 'rack-7' })
    expect(await hostsOfNew()).toEqual([id])
    await describeHost(id, { labels: {}, zone: 'rack-8' })
    const again = await harness.control([], OPERATOR)
    await eventually(() => again.control.fleet.byId(id)?.isReachable)
    expect((await operate('GET', `hosts/${id}`, undefined, again)).body).toMatchObject({ labels: {}, zone: 'rack-8' })
    await again.stop()
    await operate('DELETE', `hosts/${id}?reason=over`)
    await agent.kill()
  })
})
