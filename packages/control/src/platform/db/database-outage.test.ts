/** @module-tag faults */
import type { ServerResponse } from 'node:http'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentHooks } from '../../control.ts'
import { reconcile } from '../../fleet/reconcile.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { FragileAddress } from '../../test/fragile-address.ts'
import { type Answer, call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { startPostgres, type TestPostgres } from '../../test/postgres.ts'
import { outliveBrokenConnections } from './outlive-broken-connections.ts'

/** Requests that are under way at the same time. */
const CALLERS = 8

describe('an outage of control’s PostgreSQL', () => {
  let postgres: TestPostgres
  let replica: TestPostgres
  let address: FragileAddress
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant

  beforeAll(async () => {
    postgres = await startPostgres()
    replica = await postgres.replica()
    address = await FragileAddress.before(postgres)
    harness = await Harness.on(postgres, address)
    agent = await FakeAgent.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'tenant')
  })
  afterAll(async () => {
    await harness.stop()
    await replica.stop('SIGINT')
    address.close()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const rows = async (): Promise<string[]> =>
    (await ask('GET', '/v1/sandboxes?limit=1000')).body.map(({ id }: { id: string }) => id)

  /** Creates, lists and deletes sandboxes until `outage` is over and each caller has succeeded again. */
  async function during(outage: () => Promise<unknown>) {
    const answers: Answer[] = []
    const kept: string[] = []
    const deleted: string[] = []
    let isOver = false
    const caller = async () => {
      for (let isServed = false; !isServed;) {
        const wasOver = isOver
        const created = await ask('POST', '/v1/sandboxes', { template: 'base' })
        answers.push(created, await ask('GET', '/v1/sandboxes'))
        if (created.status !== 201) continue
        const { id } = created.body as { id: string }
        const removed = kept.length > deleted.length ? await ask('DELETE', `/v1/sandboxes/${id}`) : null
        if (removed === null) kept.push(id)
        else answers.push(removed)
        if (removed?.status === 204) deleted.push(id)
        isServed = wasOver
      }
    }
    const callers = Array.from({ length: CALLERS }, caller)
    await eventually(() => kept.length > CALLERS)
    await outage()
    isOver = true
    await Promise.all(callers)
    return { answers, kept, deleted }
  }

  /** Refusals say that they may be repeated. Acknowledged changes are there, and rows and agent agree. */
  async function expectWhole({ answers, kept, deleted }: Awaited<ReturnType<typeof during>>): Promise<void> {
    const refused = answers.filter(({ status }) => status >= 300)
    for (const { status, headers, body } of refused)
      // Only the rate limiter sets `Retry-After`, says the specification.
      expect([status, body.error, headers.get('retry-after')]).toEqual([502, 'service database unreachable', null])
    expect(await rows()).toEqual(expect.arrayContaining(kept))
    // A crash may undo the commit of a deletion. The agent's log brings it again (redelivered.ts).
    await eventually(async () => {
      const [known, real] = [await rows(), [...agent.state.sandboxes.keys()]]
      return !deleted.some((id) => known.includes(id)) && known.toSorted().join() === real.toSorted().join()
    })
  }

  /** The number of events of a kind that control has stored for a sandbox. */
  const events = async (id: string, type: string) =>
    (await ask('GET', `/v1/events?sandbox_id=${id}&type=${type}`)).body.length

  it.each(['SIGINT', 'SIGQUIT'] as const)(
    'that is a restart by %s lets requests wait or answers 502, and loses nothing',
    async (signal) => {
      const load = await during(() => postgres.restart(signal))
      await expectWhole(load)
      for (const id of load.kept.slice(-CALLERS))
        await eventually(async () => (await events(id, 'sandbox.running')) === 1)
    },
  )

  it('does not end event streams', async () => {
    const { id } = (await ask('POST', '/v1/sandboxes', { template: 'base' })).body
    const streams: ServerResponse[] = []
    agent.onOperation = (request, response) => {
      if (request.url?.includes('/events') !== true) return false
      streams.push(response.writeHead(200, { 'content-type': 'text/event-stream' }))
      response.write('event: ev\ndata: before\n\n')
      return true
    }
    const headers = { authorization: `Bearer ${tenant.key}`, accept: 'text/event-stream' }
    const { body } = await fetch(`${control.url}/v1/sandboxes/${id}/events`, { headers })
    if (body === null) throw new Error('no stream')
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toContain('data: before')
    await postgres.restart('SIGQUIT')
    streams[0]?.end('event: ev\ndata: after\n\n')
    expect((await reader.read()).value).toContain('data: after')
    expect((await reader.read()).done).toBe(true)
  })

  // The first server is gone afterwards.
  it('that is a failover to a replica behind the same address loses nothing and deletes nothing', async () => {
    const clusterId = agent.state.clusterId
    const load = await during(async () => {
      // A replica gets everything from a server that stops, if it is connected then.
      await eventually(async () => {
        const { rows } = await harness.pool.query(`select from pg_stat_replication where state = 'streaming'`)
        return rows.length === 1
      })
      await postgres.stop('SIGINT')
      address.moveTo(replica)
      const { rows: promoted } = await harness.pool.query('select pg_promote() as is_promoted')
      expect(promoted).toEqual([{ is_promoted: true }])
    })
    await expectWhole(load)
    expect(agent.state.clusterId).toBe(clusterId)
    // A reconciliation beside a create or a delete may see the agent before it and the rows after it. The next one does not.
    await eventually(async () => (await harness.pool.query('select from reconcile_waiting')).rowCount === 0)
  })

  // The last one: the second server is gone afterwards.
  it(
    'that is a failover to a replica without the last changes deletes nothing that they made, and runs jobs',
    { tags: ['faults'] },
    async () => {
      const late = await replica.replica()
      const direct = new Pool({ ...late, database: 'postgres' })
      outliveBrokenConnections(direct)
      try {
        await eventually(async () => (await ask('GET', '/v1/sandboxes')).status === 200)
        const create = async (): Promise<string> => (await ask('POST', '/v1/sandboxes', { template: 'base' })).body.id
        const [kept, expired, deleted] = [await create(), await create(), await create()]
        await direct.query(`alter system set primary_conninfo = ''`)
        await direct.query('select pg_reload_conf()')
        await eventually(async () => (await direct.query('select from pg_stat_wal_receiver')).rowCount === 0)
        await harness.pool.query(`alter system set synchronous_standby_names = ''`)
        await harness.pool.query('select pg_reload_conf()')
        const unknown = [await create(), await create()]
        expect((await ask('DELETE', `/v1/sandboxes/${deleted}`)).status).toBe(204)
        await replica.stop('SIGINT')
        address.moveTo(late)
        await direct.query('select pg_promote()')
        await eventually(async () => (await ask('GET', '/v1/sandboxes')).status === 200)
        expect(await rows()).toEqual(expect.arrayContaining([kept, expired]))
        const { database, fleet, log } = control.control
        const [known] = fleet.agents
        if (known === undefined) throw new Error('no agent')
        const agentId = agent.state.agentId
        const { clusterId } = fleet.directory
        const { signal } = new AbortController()
        const hooks = agentHooks(control.control)
        await reconcile({ pool: database.pool, client: known.client, agentId, clusterId, log, signal }, hooks)
        const waiting = await harness.pool.query<{ id: string }>('select id from reconcile_waiting')
        expect(new Set(waiting.rows.map(({ id }) => id))).toEqual(new Set(unknown))
        await harness.pool.query('update sandboxes set expires_at = now() where id = $1', [expired])
        await eventually(() => !agent.state.sandboxes.has(expired))
        for (const id of [kept, ...unknown]) expect(agent.state.sandboxes.has(id)).toBe(true)
        expect(await rows()).not.toContain(deleted)
      } finally {
        await direct.end()
        await late.stop('SIGINT')
      }
    },
  )
})
