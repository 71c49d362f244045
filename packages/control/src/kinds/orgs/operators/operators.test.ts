// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { addQuarantined } from '../../../test/fake-quarantine.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { OPERATOR, OPERATOR_KEY as KEY } from '../../../test/operator.ts'

const SUSPENDED = {
  status: 403,
  body: { error: 'account suspended', detail: 'please contact support: help@example.com' },
}

describe('operators', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let unoperated: RunningControl
  let alice: Tenant
  let bob: Tenant

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent], {
      ...OPERATOR,
      support: 'help@example.com',
    })
    unoperated = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
    bob = await harness.tenant(control, 'bob')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const operate = (verb: string, body?: unknown, { id = alice.workspaceId, token = KEY, url = control.url } = {}) =>
    call(url, 'POST', `/v1/admin/orgs/${id}/${verb}`, { token, ...(body !== undefined && { body }) })
  const create = (token: string) => call(control.url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })

  const VERBS = ['plan', 'suspend', 'unsuspend', 'credit', 'rate', 'placement']
  it.each(VERBS)('are let in to %s by their key alone', async (verb) => {
    for (const token of [alice.key, alice.jwt, `${KEY}x`, 'ofs_operator_', 'a.b.c']) {
      const answer = await operate(verb, {}, { token })
      expect(answer).toMatchObject({ status: 401, body: { error: 'unauthorized', detail: 'invalid api token' } })
    }
    const without = await call(control.url, 'POST', `/v1/admin/orgs/${alice.workspaceId}/${verb}`)
    expect(without).toMatchObject({ status: 401, body: { detail: 'missing bearer token' } })
    expect((await operate(verb, {}, { url: unoperated.url })).status).toBe(401)
    const body = { plan: 'pro', credit_usd: 1, reason: 'x' }
    for (const id of [randomUUID(), 'nonsense', '%00', '..%2f..']) {
      expect(await operate(verb, body, { id })).toMatchObject({ status: 404, body: { error: 'not found' } })
    }
  })

  it('see jobs that fail, run them again, and discard them', async () => {
    const ask = (method: string, path = '', token = KEY) =>
      call(control.url, method, `/v1/admin/jobs${path}`, { token })
    await harness.pool.query(`insert into mails (sealed) values ('unreadable')`)
    const job = await eventually(async () => {
      const { body } = await ask('GET', '?task=send-mail&state=retrying')
      return body.length === 1 && body[0]
    })
    expect(job).toMatchObject({ task: 'send-mail', state: 'retrying', max_attempts: 25, error: expect.any(String) })
    expect((await ask('GET', '?task=send-mail&state=failed')).body).toEqual([])
    expect((await ask('GET', '?task=%00')).body).toEqual([])
    expect((await ask('GET', '?state=lost')).status).toBe(400)
    expect((await ask('GET', '?task=a&task=b')).status).toBe(400)
    await harness.pool.query(`select graphile_worker.permanently_fail_jobs(array[$1::bigint])`, [job.id])
    expect((await ask('GET', '?state=failed')).body).toMatchObject([{ id: job.id, subject: job.subject }])
    expect((await ask('POST', `/${job.id}/retry`)).status).toBe(204)
    await eventually(async () => (await ask('GET', '?task=send-mail&state=retrying')).body[0]?.attempts === 1)
    expect((await ask('DELETE', `/${job.id}`)).status).toBe(204)
    for (const id of [job.id, '999999999999', '0', 'x', '%00', '1'.repeat(30)]) {
      expect(await ask('DELETE', `/${id}`)).toMatchObject({ status: 404, body: { error: 'not found' } })
      expect((await ask('POST', `/${id}/retry`)).status).toBe(404)
    }
    const entries = `select from audit_log where target = $1 and details->>'status' = '204'`
    expect((await harness.pool.query(entries, [job.id])).rows).toHaveLength(2)
    await harness.pool.query('delete from mails')
    for (const token of [alice.key, alice.jwt]) {
      expect((await ask('GET', '', token)).status).toBe(401)
      expect((await ask('DELETE', `/${job.id}`, token)).status).toBe(401)
      expect((await ask('POST', `/${job.id}/retry`, token)).status).toBe(401)
    }
  })

  it('see waiting jobs, and leave a running one alone', async () => {
    const ask = (method: string, path: string) => call(control.url, method, path, { token: KEY })
    const add = `select id from graphile_worker.add_job('unknown', run_at := now() + interval '1 day')`
    const ids: string[] = []
    for (let n = 0; n < 3; n += 1) ids.unshift((await harness.pool.query(add)).rows[0].id)
    const { body } = await ask('GET', '/v1/admin/jobs?task=unknown')
    expect(body[2]).toMatchObject({ id: ids[2], state: 'waiting', subject: null, error: null })
    await harness.pool.query(
      `update graphile_worker._private_jobs set locked_at = now(), locked_by = 'other' where id = $1`,
      [ids[0]],
    )
    const refusal = { status: 409, body: { detail: 'the job is running' } }
    expect(await ask('POST', `/v1/admin/jobs/${ids[0]}/retry`)).toMatchObject(refusal)
    expect(await ask('DELETE', `/v1/admin/jobs/${ids[0]}`)).toMatchObject(refusal)
    const { body: metrics } = await call(control.url, 'GET', '/metrics')
    expect(metrics).toContain('offshoot_jobs{task="unknown",state="waiting"} 2')
    expect(metrics).toContain('offshoot_job_lateness_seconds{task="unknown"} 0')
  })

  it("see what takes a host's disk", async () => {
    const look = (id: string, token = KEY) => call(control.url, 'GET', `/v1/hosts/${id}/disk`, { token })
    const disk = { agent_id: agent.state.agentId, total_bytes: 8 * 1024 ** 4, free_bytes: 1024 ** 4, volumes_bytes: 1 }
    for (const id of ['self', agent.state.agentId]) expect(await look(id)).toMatchObject({ status: 200, body: disk })
    for (const id of [randomUUID(), 'other', '%00']) expect((await look(id)).status).toBe(404)
    expect((await look('self', alice.key)).status).toBe(401)
  })

  it('see, restore and purge what a host neither uses nor deletes', async () => {
    const ask = (method: string, path = '', token = KEY) =>
      call(control.url, method, `/v1/hosts/self/quarantine${path}`, { token })
    const [kept, purged, stuck] = [
      addQuarantined(agent.state, { since: '2026-01-01T00:00:00.000Z' }),
      addQuarantined(agent.state, {
        entry: 'sandbox-0b7e',
        state: 'unreadable',
        kind: 'sandbox',
        since: '2026-01-01T00:00:01.000Z',
      }),
      addQuarantined(agent.state, { reason: 'stuck', since: '2026-01-01T00:00:02.000Z' }),
    ]
    expect(await ask('GET')).toMatchObject({ status: 200, body: [kept, purged, stuck] })
    expect((await ask('POST', `/${kept.entry}/restore`)).status).toBe(204)
    expect((await ask('DELETE', `/${purged.entry}`)).status).toBe(204)
    const refused = await ask('POST', `/${stuck.entry}/restore`)
    expect(refused).toMatchObject({ status: 409, body: { error: 'conflict', detail: 'the object has no record' } })
    for (const entry of [kept.entry, '..%2fdisk', '%00', 'A', 'a'.repeat(65)]) {
      expect((await ask('DELETE', `/${entry}`)).status).toBe(404)
      expect((await ask('POST', `/${entry}/restore`)).status).toBe(404)
    }
    for (const token of [alice.key, alice.jwt])
      for (const [method, path] of [
        ['GET', ''],
        ['POST', `/${stuck.entry}/restore`],
        ['DELETE', `/${stuck.entry}`],
      ] as const)
        expect((await ask(method, path, token)).status).toBe(401)
    expect([...agent.state.quarantine.values()]).toEqual([stuck])
    agent.state.quarantine.clear()
  })

  it('see what every sandbox with a VM uses, with the ids that the open figures leave out', async () => {
    const look = (token: string, url = control.url) => call(url, 'GET', '/v1/admin/metrics', { token })
    const ids = { sandbox_id: randomUUID(), workspace_id: alice.workspaceId }
    const figures = {
      ts: new Date().toISOString(),
      cpu_seconds: 1.25,
      memory_guest_used_bytes: null,
      memory_host_private_bytes: 2,
      disk_bytes: 3,
      network_in_bytes: 4,
      network_out_bytes: 5,
      refused_packets: 6,
    }
    agent.state.usage = { sandboxes: [{ ...ids, ...figures }], omitted: 7 }
    const { status, headers, body } = await look(KEY)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    const { agentId } = agent.state
    const labels = `agent_id="${agentId}",workspace_id="${alice.workspaceId}",sandbox_id="${ids.sandbox_id}"`
    const lines = body.split('\n')
    for (const line of [
      `offshoot_agent_up{agent_id="${agentId}"} 1`,
      `offshoot_agent_memory_mib{agent_id="${agentId}",kind="total"} 4096`,
      `offshoot_sandboxes_omitted{agent_id="${agentId}"} 7`,
      '# TYPE offshoot_sandbox_cpu_seconds_total counter',
      `offshoot_sandbox_cpu_seconds_total{${labels}} 1.25`,
      `offshoot_sandbox_memory_host_private_bytes{${labels}} 2`,
      `offshoot_sandbox_disk_bytes{${labels}} 3`,
      `offshoot_sandbox_network_in_bytes_total{${labels}} 4`,
      `offshoot_sandbox_network_out_bytes_total{${labels}} 5`,
      `offshoot_sandbox_egress_refused_packets_total{${labels}} 6`,
    ])
      expect(lines).toContain(line)
    // An unknown value has no line.
    expect(body).not.toContain('offshoot_sandbox_memory_guest_used_bytes{')
    for (const token of [alice.key, alice.jwt, `${KEY}x`]) expect((await look(token)).status).toBe(401)
    expect((await call(control.url, 'GET', '/v1/admin/metrics')).status).toBe(401)
    expect((await look(KEY, unoperated.url)).status).toBe(401)
    expect((await call(control.url, 'GET', `/v1/admin/metrics?access_token=${KEY}`)).status).toBe(401)
    const open = await call(control.url, 'GET', '/metrics')
    expect(open.body).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/)
    // An agent with an invalid answer counts as down and does not affect the other metrics.
    agent.state.usage = { sandboxes: [{ sandbox_id: '"} 1', workspace_id: 'x' }], omitted: 0 }
    const broken = await look(KEY)
    expect(broken.status).toBe(200)
    expect(broken.body).toContain(`offshoot_agent_up{agent_id="${agentId}"} 0`)
    expect(broken.body).not.toContain('sandbox_id=')
  })

  it('have no other door: their key opens no route of users or workspaces', async () => {
    for (const path of ['/v1/me', '/v1/sandboxes', '/v1/orgs', '/v1/audit']) {
      expect(await call(control.url, 'GET', path, { token: KEY })).toMatchObject({
        status: 401,
        body: { detail: 'invalid api token' },
      })
    }
  })

  it.each([
    ['plan', {}, 'plan must be one of free, pro, team, enterprise, self-hosted'],
    ['plan', { plan: 'gold' }, 'plan must be one of free, pro, team, enterprise, self-hosted'],
    ['credit', { reason: 'x' }, 'credit_usd must be a number from 0.01 to 1000000'],
    ['credit', { credit_usd: -1, reason: 'x' }, 'credit_usd must be a number from 0.01 to 1000000'],
    ['credit', { credit_usd: '5', reason: 'x' }, 'credit_usd must be a number from 0.01 to 1000000'],
    ['credit', { credit_usd: 1e9, reason: 'x' }, 'credit_usd must be a number from 0.01 to 1000000'],
    ['credit', { credit_usd: 5 }, 'reason required'],
    ['suspend', { reason: 7 }, 'reason must be a string'],
    ['rate', { burst: 5 }, 'burst and per_second required together'],
    ['rate', { burst: 0, per_second: 1 }, 'burst must be >= 1'],
  ])('get a reason for the refusal of %s %j', async (verb, body, error) => {
    expect(await operate(verb, body)).toMatchObject({ status: 400, body: { error } })
  })

  it('put a workspace on a plan and give it credit', async () => {
    const answer = await operate('plan', { plan: 'team' })
    expect(answer).toMatchObject({
      status: 200,
      body: { id: alice.workspaceId, plan: 'team', owners: ['alice@example.com'] },
    })
    expect((await call(control.url, 'GET', '/v1/me', { token: alice.jwt })).body.org.plan).toBe('team')
    expect((await operate('credit', { credit_usd: 12.34, reason: 'sorry' })).status).toBe(200)
    const { rows } = await harness.pool.query('select micro_usd, reason from credit_grants where workspace_id = $1', [
      alice.workspaceId,
    ])
    expect(rows).toEqual([{ micro_usd: '12340000', reason: 'sorry' }])
    expect((await operate('rate', { burst: 70, per_second: 60 })).status).toBe(200)
    const rates = await harness.pool.query(
      'select rate_burst, rate_per_second from workspace_accounts where workspace_id = $1',
      [alice.workspaceId],
    )
    expect(rates.rows).toEqual([{ rate_burst: 70, rate_per_second: 60 }])
  })

  it('suspend a workspace: it begins nothing, for keys and tokens, in any process; it sees and ends what it has', async () => {
    const { body: sandbox } = await create(alice.key)
    expect((await operate('suspend', { reason: 'unpaid' })).body).toMatchObject({ suspended: true })
    expect(await create(alice.jwt)).toMatchObject(SUSPENDED)
    const byKey = await eventually(async () => {
      const answer = await create(alice.key)
      return answer.status === 201 ? null : answer
    })
    expect(byKey).toMatchObject(SUSPENDED)
    const path = `/v1/sandboxes/${sandbox.id}`
    const refused = [
      await call(control.url, 'POST', `${path}/exec`, { token: alice.key, body: { cmd: 'true' } }),
      await call(control.url, 'POST', `${path}/fork`, { token: alice.key }),
      await call(control.url, 'POST', `${path}/wake`, { token: alice.key }),
      await call(control.url, 'GET', `${path}/exec/pty`, { token: alice.key }),
      await call(control.url, 'PUT', `${path}/fs?path=/x`, { token: alice.key, body: 'x' }),
    ]
    for (const answer of refused) expect(answer).toMatchObject(SUSPENDED)
    expect((await call(control.url, 'GET', path, { token: alice.key })).status).toBe(200)
    expect((await call(control.url, 'GET', '/v1/me', { token: alice.jwt })).status).toBe(200)
    expect((await create(bob.key)).status).toBe(201)
    expect((await call(control.url, 'DELETE', path, { token: alice.key })).status).toBe(204)
    expect((await operate('suspend')).status).toBe(200)
    expect((await operate('unsuspend')).body).toMatchObject({ suspended: false })
    expect(await eventually(async () => (await create(alice.key)).status === 201)).toBe(true)
  })

  it('leave entries in the audit log of the workspace', async () => {
    const all = await call(control.url, 'GET', '/v1/audit', { token: alice.jwt })
    const body = all.body.filter(({ action }: { action: string }) => action !== 'request.made')
    const entries = body.map(
      ({ action, actor }: { action: string; actor: { type: string } }) => `${actor.type} ${action}`,
    )
    expect(entries).toEqual(
      ['unsuspended', 'suspended', 'suspended', 'rate_set', 'credit_granted', 'plan_set'].map(
        (action) => `operator org.${action}`,
      ),
    )
    expect(body.at(-2)).toMatchObject({ details: { credit_usd: 12.34, reason: 'sorry' }, ip: '127.0.0.1' })
    const ofBob = (await call(control.url, 'GET', '/v1/audit', { token: bob.key })).body
    expect(ofBob.filter(({ actor }: { actor: { type: string } }) => actor.type === 'operator')).toEqual([])
  })

  it('find workspaces', async () => {
    const list = (query: string) => call(control.url, 'GET', `/v1/admin/orgs${query}`, { token: KEY })
    const slugs = async (query: string) => (await list(query)).body.map(({ slug }: { slug: string }) => slug)
    expect(await slugs('')).toEqual(['bob', 'alice'])
    expect(await slugs('?q=alice')).toEqual(['alice'])
    expect(await slugs('?q=Bob@example.com')).toEqual(['bob'])
    expect(await slugs('?q=%00')).toEqual([])
    const first = await list('?limit=1')
    const next = /<[^?]+(\?[^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? ''
    expect([...first.body.map(({ slug }: { slug: string }) => slug), ...(await slugs(next))]).toEqual(['bob', 'alice'])
    expect((await list('?limit=x')).status).toBe(400)
    expect((await call(control.url, 'GET', '/v1/admin/orgs', { token: alice.jwt })).status).toBe(401)
  })
})
