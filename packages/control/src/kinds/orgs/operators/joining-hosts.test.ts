import { randomUUID } from 'node:crypto'
import { findFreePort } from '@offshoot/kit/free-port'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { upsertAgent } from '../../../fleet/agent-statements.ts'
import { removeJoinedHost } from '../../../fleet/host-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAgentState } from '../../../test/fake-agent-state.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

/** Of a host whose agent has not answered yet. */
const UNKNOWN = {
  version: null,
  qemu_version: null,
  accelerator: null,
  accelerator_reason: null,
  isolation: null,
  cpu_limits: null,
  network: null,
  capacity: { cpus: null, memory_mib: null, disk_bytes: null },
  used: { memory_mib: null, disk_bytes: null },
  disk_state: null,
  sandboxes: 0,
  instances: 0,
  databases: 0,
  cordoned_at: null,
  lease: null,
  last_heard_at: null,
}

describe('a host whose agent has not answered yet', () => {
  let harness: Harness
  let control: RunningControl
  let other: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([], OPERATOR)
    other = await harness.control([], OPERATOR)
    alice = await harness.tenant(control, 'alice')
  })

  afterAll(() => harness.stop())

  const operate = (method: string, path: string, body?: unknown, on = control) =>
    call(on.url, method, `/v1${path}`, { token: OPERATOR_KEY, ...(body !== undefined && { body }) })
  const hosts = async (query = '') => (await operate('GET', `/admin/hosts${query}`)).body
  const idsOf = async (query: string) => (await hosts(query)).map(({ id }: { id: string }) => id)
  const remove = (id: string) => operate('DELETE', `/admin/hosts/${id}`)
  const create = () => call(control.url, 'POST', '/v1/sandboxes', { token: alice.key, body: { template: 'base' } })

  /** At an address at which its agent may start later. */
  async function join(body: Record<string, unknown> = {}) {
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    const joined = await host.join(control, (await operate('POST', '/admin/hosts/tokens')).body.token, body)
    const { host_id: id, secret } = joined.body as { host_id: string; secret: string }
    const start = () => FakeAgent.start({ state: new FakeAgentState(id), port, tls: host.identity, secret })
    return { id, url: host.url, start }
  }

  it('is shown as joining by every control process, and keeps its time, labels and zone when it is ready', async () => {
    const { id, url, start } = await join({ labels: { disk: 'nvme' }, zone: 'east' })
    const described = { id, url, labels: { disk: 'nvme' }, zone: 'east', created_at: expect.any(String) }
    const shown = { ...described, ...UNKNOWN, state: 'joining' }
    const [listed] = await hosts()
    expect(await hosts()).toEqual([shown])
    for (const on of [control, other]) {
      expect((await operate('GET', `/admin/hosts/${id}`, undefined, on)).body).toEqual({ ...shown, drain: null })
    }
    await eventually(() => control.control.fleet.agents.length === 1)
    expect((await operate('GET', '/admin/hosts/self')).body).toMatchObject({ id, state: 'joining' })
    const agent = await start()
    try {
      await eventually(async () => (await hosts())[0].state === 'ready')
      const [ready] = await hosts()
      expect(ready).toMatchObject({ ...described, capacity: { cpus: 2 }, last_heard_at: expect.any(String) })
      expect(ready.created_at).toBe(listed.created_at)
      await eventually(async () => (await create()).status === 201)
    } finally {
      await operate('DELETE', `/admin/hosts/${id}?reason=over`)
      await agent.kill()
    }
    expect(await hosts()).toEqual([])
  })

  it('is in the order and the filters of the list with the others', async () => {
    const first = await join({ zone: 'east' })
    const agent = await first.start()
    await eventually(async () => (await hosts())[0].state === 'ready')
    const second = await join({ labels: { disk: 'nvme' } })
    expect(await idsOf('')).toEqual([second.id, first.id])
    expect(await idsOf('?zone=east')).toEqual([first.id])
    expect(await idsOf('?label=disk:nvme')).toEqual([second.id])
    const page = await operate('GET', '/admin/hosts?limit=1')
    const [, cursor = ''] = /cursor=([^>&]+)/.exec(page.headers.get('link') ?? '') ?? []
    expect(await idsOf(`?limit=1&cursor=${cursor}`)).toEqual([first.id])
    await remove(first.id)
    await agent.kill()
    await remove(second.id)
  })

  it('gets no sandbox, and is neither cordoned nor drained', async () => {
    const { id } = await join()
    await eventually(() => control.control.fleet.agents.length === 1)
    expect(await create()).toMatchObject({ status: 502, body: { error: 'no available compute node' } })
    for (const verb of ['cordon', 'uncordon', 'drain'])
      expect(await operate('POST', `/admin/hosts/${id}/${verb}`)).toMatchObject({
        status: 409,
        body: { error: 'conflict', detail: 'the host is joining: its agent has not answered yet' },
      })
    for (const path of [`/hosts/${id}/disk`, `/hosts/${id}/quarantine`, `/admin/hosts/${id}/reconcile`])
      expect(await operate('GET', path)).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    const { rows } = await harness.pool.query(`select action from audit_log where target = $1`, [id])
    expect(rows).toEqual([{ action: 'host.joined' }])
    await remove(id)
  })

  it('takes labels and a zone, which are audited, and which its agent has from its first answer on', async () => {
    const { id, start } = await join({ labels: { disk: 'ssd' } })
    const describeHost = (body: unknown) => operate('PATCH', `/admin/hosts/${id}`, body)
    expect((await describeHost({ labels: { disk: 'nvme' } })).body).toMatchObject({
      state: 'joining',
      labels: { disk: 'nvme' },
      zone: null,
    })
    const changed = { labels: { disk: 'nvme' }, zone: 'west' }
    for (const body of [{ zone: 'west' }, { zone: 'west' }])
      expect((await describeHost(body)).body).toMatchObject(changed)
    for (const body of [{ zone: 1 }, { labels: { Disk: 'a' } }]) expect((await describeHost(body)).status).toBe(400)
    expect((await operate('PATCH', `/admin/hosts/${randomUUID()}`, { zone: 'a' })).status).toBe(404)
    const { rows } = await harness.pool.query(
      `select details from audit_log where target = $1 and action = 'host.updated' order by created_at`,
      [id],
    )
    expect(rows.map(({ details }) => details)).toEqual([{ labels: { disk: 'nvme' }, zone: null }, changed])
    const agent = await start()
    await eventually(async () => (await hosts())[0].state === 'ready')
    expect((await hosts())[0]).toMatchObject(changed)
    expect((await describeHost({ zone: null })).body).toMatchObject({ ...changed, zone: null })
    await remove(id)
    await agent.kill()
  })

  it('can be removed, and does not come back with the answer of its agent', async () => {
    const { id, url, start } = await join()
    expect((await remove(id)).status).toBe(204)
    expect(await hosts()).toEqual([])
    for (const answer of [await remove(id), await operate('GET', `/admin/hosts/${id}`)]) expect(answer.status).toBe(404)
    const agent = await start()
    await agent.kill()
    // A process that does not know of the removal yet.
    expect(await upsertAgent(harness.pool, id, url, '{}', true)).toEqual([])
    expect(await hosts()).toEqual([])
  })

  it('is removed also if its agent answers at the same moment', async () => {
    const { id, url } = await join()
    const answered = await transaction(harness.pool, async (client) => {
      await removeJoinedHost(client, id)
      const stored = upsertAgent(harness.pool, id, url, '{}', true)
      await eventually(async () => {
        const { rows } = await harness.pool.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)
        return rows.length > 0
      })
      return { stored }
    })
    expect(await answered.stored).toEqual([])
    expect(await hosts()).toEqual([])
  })
})
