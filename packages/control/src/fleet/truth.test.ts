// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { agentHooks } from '../control.ts'
import { randomUUID } from 'node:crypto'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { EventType } from '@offshoot/contract/event'
import * as fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../test/fake-agent.ts'
import { FakeAgentState } from '../test/fake-agent-state.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../test/harness.ts'
import { applyRecords, batchOf } from './apply-records.ts'

/** Longer ago than any create may take. */
const ABANDONED = `now() - interval '1 hour'`

describe('rows follow the agent', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    harness = await Harness.start()
  })

  beforeEach(async () => {
    agent = await FakeAgent.start()
    control = await harness.control([agent])
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    return async () => {
      await control.stop()
      await agent.kill()
      await harness.pool.query('delete from sandboxes')
    }
  })

  afterAll(() => harness.stop())

  const create = (on = control) =>
    call(on.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base' } })
  const statusOf = async (id: string): Promise<string | undefined> => {
    const { rows } = await harness.pool.query('select status from sandboxes where id = $1', [id])
    return rows[0]?.status
  }
  const insertRow = async (status: string, createdAt = 'now()', creator = 0): Promise<string> => {
    const id = randomUUID()
    await harness.pool.query(
      `insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent, ttl_seconds,
         idle_timeout_seconds, expires_at, created_at)
       values ($1, $2, $3, $4, 'base', $5, 1, 512, false, 3600, 600, now(), ${createdAt})`,
      [id, tenant.workspaceId, agent.state.agentId, creator, status],
    )
    return id
  }
  const cursor = async (): Promise<number> => {
    const { rows } = await harness.pool.query('select cursor::int from agents where id = $1', [agent.state.agentId])
    return rows[0]?.cursor
  }
  const caughtUp = () => eventually(async () => (await cursor()) === agent.state.records.length)
  const restartAgent = async () => {
    const { port, state } = agent
    await agent.kill()
    agent = await FakeAgent.start({ port, state })
  }

  it('through each record to its status', async () => {
    for (const [type, status] of [
      ['sandbox.paused', 'paused'],
      ['sandbox.hibernated', 'hibernated'],
      ['vm.died', 'failed'],
      ['recover.orphaned', 'failed'],
      ['sandbox.deleted', undefined],
    ] as const) {
      const { id } = (await create()).body
      agent.log(type, id)
      await eventually(async () => (await statusOf(id)) === status)
    }
  })

  it('over a cut stream and a restart of the agent, without missing a record', async () => {
    const { id } = (await create()).body
    await caughtUp()
    agent.cutStreams()
    agent.log('sandbox.paused', id)
    expect(await eventually(async () => (await statusOf(id)) === 'paused')).toBe(true)
    await restartAgent()
    agent.log('sandbox.resumed', id)
    expect(await eventually(async () => (await statusOf(id)) === 'running')).toBe(true)
    await caughtUp()
  })

  it('past records of a kind that this version does not know, and counts them', { tags: ['faults'] }, async () => {
    const { id } = (await create()).body
    await caughtUp()
    for (const type of ['sandbox.teleported', 'sandbox.ssh_ready'] as const) agent.log(type as EventType, id)
    agent.log('sandbox.paused', id)
    expect(await eventually(async () => (await statusOf(id)) === 'paused')).toBe(true)
    agent.log('sandbox.teleported' as EventType, id)
    await caughtUp()
    const { body } = await call(control.url, 'GET', '/metrics')
    expect(body).toContain('offshoot_agent_records_skipped_total 2')
  })

  it('after control was away', { tags: ['faults'] }, async () => {
    const { id } = (await create()).body
    await caughtUp()
    await control.stop()
    agent.log('sandbox.paused', id)
    expect(await statusOf(id)).toBe('running')
    control = await harness.control([agent])
    expect(await eventually(async () => (await statusOf(id)) === 'paused')).toBe(true)
  })

  it('from the start of its log when the agent has lost it', { tags: ['faults'] }, async () => {
    const { id } = (await create()).body
    for (let n = 0; n < 5; n++) agent.log('sandbox.ssh_ready', id)
    await caughtUp()
    agent.state.records.length = 0
    agent.log('sandbox.paused', id)
    await restartAgent()
    expect(await eventually(async () => (await statusOf(id)) === 'paused')).toBe(true)
    await caughtUp()
  })

  describe('reconciliation', () => {
    it('fails a row whose VM has vanished without a word', async () => {
      const { id } = (await create()).body
      await caughtUp()
      agent.state.sandboxes.delete(id)
      agent.cutStreams()
      expect(await eventually(async () => (await statusOf(id)) === 'failed')).toBe(true)
    })

    it('keeps the row of a sandbox whose record the agent cannot read', async () => {
      const { id } = (await create()).body
      const { id: vanished } = (await create()).body
      await caughtUp()
      agent.state.unreadable.add(id)
      for (const each of [id, vanished]) agent.state.sandboxes.delete(each)
      agent.cutStreams()
      expect(await eventually(async () => (await statusOf(vanished)) === 'failed')).toBe(true)
      expect(await statusOf(id)).toBe('running')
      agent.state.unreadable.clear()
    })

    it('removes a create of a process that is gone, and one that is too old', { tags: ['faults'] }, async () => {
      const gone = await insertRow('creating')
      const old = await insertRow('creating', ABANDONED, control.control.lock.number)
      agent.cutStreams()
      expect(
        await eventually(async () => (await statusOf(gone)) === undefined && (await statusOf(old)) === undefined),
      ).toBe(true)
    })

    it('deletes the VM of a create that was abandoned', { tags: ['faults'] }, async () => {
      const late = await insertRow('creating')
      agent.cutStreams()
      await eventually(async () => (await statusOf(late)) === undefined)
      agent.addSandbox(late, tenant.workspaceId)
      expect(await eventually(() => !agent.state.sandboxes.has(late))).toBe(true)
    })

    it('leaves alone a create that somebody works on', { tags: ['faults'] }, async () => {
      const mine = await insertRow('creating', 'now()', control.control.lock.number)
      const gone = await insertRow('creating')
      agent.cutStreams()
      expect(await eventually(async () => (await statusOf(gone)) === undefined)).toBe(true)
      expect(await statusOf(mine)).toBe('creating')
    })

    it('takes over a status that no record explained', { tags: ['faults'] }, async () => {
      const { id } = (await create()).body
      await caughtUp()
      const vm = agent.state.sandboxes.get(id)
      if (vm === undefined) throw new Error('no VM')
      agent.state.sandboxes.set(id, { ...vm, status: 'paused' })
      agent.cutStreams()
      expect(await eventually(async () => (await statusOf(id)) === 'paused')).toBe(true)
    })
  })

  it('leaves nothing when the agent dies in the middle of a create, though the VM had come to be', async () => {
    agent.onCreate = async (id) => {
      agent.addSandbox(id, tenant.workspaceId)
      await agent.kill()
      return undefined
    }
    const { port, state } = agent
    expect(await create()).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    const { rows } = await harness.pool.query('select id from sandboxes')
    expect(rows).toEqual([])
    expect(state.sandboxes.size).toBe(1)
    agent = await FakeAgent.start({ port, state })
    expect(await eventually(() => state.sandboxes.size === 0)).toBe(true)
  })

  it('fail when another agent answers at that address, and can then be deleted', { tags: ['faults'] }, async () => {
    const { id } = (await create()).body
    await caughtUp()
    const { port } = agent
    await agent.kill()
    agent = await FakeAgent.start({ port })
    expect(await eventually(async () => (await statusOf(id)) === 'failed')).toBe(true)
    expect((await call(control.url, 'DELETE', `/v1/sandboxes/${id}`, { token: tenant.key })).status).toBe(204)
    const created = (await create()).body
    agent.log('sandbox.paused', created.id)
    expect(await eventually(async () => (await statusOf(created.id)) === 'paused')).toBe(true)
  })

  it('the next agent is asked when the first has no memory, or cannot be reached', { tags: ['faults'] }, async () => {
    const other = await FakeAgent.start()
    const both = await harness.control([agent, other])
    agent.onCreate = async () => ({ status: 507, body: { error: 'insufficient host memory for sandbox' } })
    for (let n = 0; n < 3; n++) expect((await create(both)).status).toBe(201)
    await agent.kill()
    for (let n = 0; n < 3; n++) expect((await create(both)).status).toBe(201)
    expect(other.state.sandboxes.size).toBe(6)
    other.onCreate = agent.onCreate
    expect(await create(both)).toMatchObject({ status: 502, body: { error: 'no available compute node' } })
    await both.stop()
    await other.kill()
  })

  it('and two control processes on one database agree', { tags: ['faults'] }, async () => {
    const second = await harness.control([agent])
    const [a, b] = [(await create()).body, (await create(second)).body]
    for (const { id } of [a, b]) agent.log('sandbox.paused', id)
    expect(
      await eventually(async () => (await statusOf(a.id)) === 'paused' && (await statusOf(b.id)) === 'paused'),
    ).toBe(true)
    const remove = (on: RunningControl, id: string) =>
      call(on.url, 'DELETE', `/v1/sandboxes/${id}`, { token: tenant.key })
    expect((await remove(second, a.id)).status).toBe(204)
    // The follower has stopped, so the other process takes over.
    await control.stop()
    agent.log('sandbox.resumed', b.id)
    expect(await eventually(async () => (await statusOf(b.id)) === 'running')).toBe(true)
    expect((await remove(second, b.id)).status).toBe(204)
    await second.stop()
  })

  it('applies each record once, however often, by whomever and in whatever pieces it is delivered', async () => {
    await control.stop()
    const types: EventType[] = ['sandbox.paused', 'sandbox.resumed', 'sandbox.hibernated', 'sandbox.woken', 'vm.died']
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...types), { minLength: 1, maxLength: 12 }),
        fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 6 }),
        async (events, slices) => {
          const state = new FakeAgentState()
          await harness.pool.query(`insert into agents (id, url, info) values ($1, 'x', '{}')`, [state.agentId])
          const id = randomUUID()
          await harness.pool.query(
            `insert into sandboxes (id, workspace_id, agent_id, creator, template, status, cpu, memory_mb, persistent,
               ttl_seconds, idle_timeout_seconds, expires_at)
             values ($1, $2, $3, 0, 'base', 'running', 1, 512, false, 1, 1, now())`,
            [id, tenant.workspaceId, state.agentId],
          )
          const records = events.map((type, n): AgentRecord => ({
            seq: n + 1,
            number: n + 1,
            workspace_id: tenant.workspaceId,
            event: { ts: '', sandbox_id: id, agent_id: state.agentId, type, code: 'ok', message: '', metadata: {} },
          }))
          // Deliveries may overlap and repeat but, as with any cursor, begin at or before the first unapplied record.
          let applied = 0
          for (const [from, count] of slices) {
            const begin = Math.min(from, applied)
            const piece = records.slice(begin, begin + count)
            const batch = batchOf(state.agentId, piece)
            const apply = () => applyRecords(harness.pool, agentHooks(control.control), [batch])
            await Promise.all([apply(), apply()])
            applied = Math.max(applied, Math.min(begin + count, records.length))
            const { rows } = await harness.pool.query(
              `select a.cursor::int, s.last_event_seq::int as seq, s.status from agents a join sandboxes s on s.agent_id = a.id where a.id = $1`,
              [state.agentId],
            )
            expect(rows[0]).toEqual({ cursor: applied, seq: applied, status: expectedStatus(events.slice(0, applied)) })
          }
        },
      ),
      { numRuns: 30 },
    )
  })
})

function expectedStatus(events: readonly EventType[]): string {
  const after: Partial<Record<EventType, string>> = {
    'sandbox.paused': 'paused',
    'sandbox.resumed': 'running',
    'sandbox.hibernated': 'hibernated',
    'sandbox.woken': 'running',
    'vm.died': 'failed',
  }
  const last = events.at(-1)
  return last === undefined ? 'running' : (after[last] ?? 'running')
}
