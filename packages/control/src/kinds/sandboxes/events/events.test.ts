import { randomUUID } from 'node:crypto'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import { type EventType, eventCode } from '@offshoot/contract/event'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { EventPartitions } from './event-partitions.ts'

const DAY_MS = 24 * 3600 * 1000

describe('events of 90 days', () => {
  let harness: Harness
  let control: RunningControl
  let tenant: Tenant
  let other: Tenant
  const sandbox = randomUUID()

  beforeAll(async () => {
    harness = await Harness.start()
    control = await harness.control([])
    tenant = await harness.tenant(control, 'watcher')
    other = await harness.tenant(control, 'stranger')
  })

  afterAll(() => harness.stop())

  const record = (ms: number, type: EventType, { workspaceId } = tenant, metadata = {}): AgentRecord => ({
    seq: 1,
    number: 1,
    workspace_id: workspaceId,
    event: {
      ts: new Date(ms).toISOString(),
      sandbox_id: sandbox,
      agent_id: 'a',
      type,
      code: eventCode(type),
      message: type,
      metadata,
    },
  })
  const shown = (event: AgentRecord['event'] | undefined) => ({
    ...event,
    id: expect.stringMatching(/^\d+-\d+$/),
    object: { kind: 'sandbox', id: sandbox },
  })
  const store = async (records: readonly AgentRecord[]) => {
    await control.control.events.prepare(records)
    await control.control.events.append(harness.pool, records)
  }
  const get = (query: string, token = tenant.key) => call(control.url, 'GET', `/v1/events?${query}`, { token })
  const partitions = async (): Promise<string[]> => {
    const { rows } = await harness.pool.query<{ relname: string }>(
      `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where inhparent = 'events'::regclass`,
    )
    return rows.map(({ relname }) => relname).sort()
  }

  it('are kept once, given newest first, by type, sandbox, time and page, to their workspace alone', async () => {
    const now = Date.now()
    const types: EventType[] = ['sandbox.running', 'sandbox.paused', 'sandbox.resumed', 'sandbox.deleted']
    const records = types.map((type, index) => record(now - (4 - index) * DAY_MS, type))
    await store(records)
    await store(records)
    const newestFirst = records.map(({ event }) => event).toReversed()
    expect((await get('')).body).toEqual(newestFirst.map(shown))
    expect((await get('', other.key)).body).toEqual([])
    expect((await get('type=sandbox.paused,sandbox.deleted')).body).toEqual([newestFirst[0], newestFirst[2]].map(shown))
    expect((await get(`sandbox_id=${randomUUID()}`)).body).toEqual([])
    expect((await get(`from=${newestFirst[1]?.ts}&to=${newestFirst[0]?.ts}`)).body).toEqual([newestFirst[1]].map(shown))
    const paged = []
    for (let path: string | null = '/v1/events?limit=3'; path !== null;) {
      const { body, headers } = await call(control.url, 'GET', path, { token: tenant.key })
      paged.push(...body)
      path = /<[^>]*(\/v1\/events[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null
    }
    expect(paged).toEqual(newestFirst.map(shown))
  })

  it.each([
    ['type=sandbox.exploded', /^type must be among /],
    ['sandbox_id=x', /^sandbox_id must be a UUID$/],
    ['from=soon', /^from must be a timestamp$/],
    ['limit=0', /^limit must be an integer/],
    ['cursor=x', /^cursor is not one this list gave out$/],
  ])('refuses %s', async (query, error) => {
    const { status, body } = await get(query)
    expect(status).toBe(400)
    expect(body.error).toMatch(error)
  })

  it('are not stopped by one that cannot be kept as it is', async () => {
    await store([record(Date.now() - 1000, 'vm.died', other, { reason: 'nul \0 and half a pair \uD800' })])
    expect((await get('', other.key)).body[0].metadata).toEqual({ reason: 'nul \uFFFD and half a pair \uFFFD' })
  })

  it('are dropped by whole days when they are too old, and those that come too late are not taken', async () => {
    const days = new EventPartitions(harness.pool)
    await days.ensure(['2026-01-01', '2026-01-02', '2026-01-02'])
    await harness.pool.query(
      `insert into events values ($1, '2026-01-01T12:00:00Z', $2, 'a', 'vm.died', 'error', 'x', '{}')`,
      [tenant.workspaceId, sandbox],
    )
    const before = await partitions()
    expect(before).toContain('events_2026_01_01')
    await control.control.events.sweep()
    const after = await partitions()
    expect(before.filter((name) => !after.includes(name))).toEqual(['events_2026_01_01', 'events_2026_01_02'])
    await store([record(Date.now() - 91 * DAY_MS, 'vm.died'), record(Date.now() + 3 * DAY_MS, 'vm.died')])
    expect((await get('type=vm.died')).body).toEqual([])
    expect(await partitions()).toEqual(after)
  })

  it('have room for them made by several processes at once', async () => {
    const day = '2026-01-05'
    await Promise.all(Array.from({ length: 5 }, () => new EventPartitions(harness.pool).ensure([day])))
    expect((await partitions()).filter((name) => name === 'events_2026_01_05')).toHaveLength(1)
  })

  it('are read in the order of their transactions, also where their numbers get another digit', async () => {
    const reader = await harness.tenant(control, 'reader')
    const now = Date.now()
    await store([0, 1, 2, 3].map((n) => record(now + n, 'sandbox.paused', reader)))
    const renumber = `update events set xid = (8 + place)::text::xid8
      from (select seq as of, row_number() over (order by ts) - 1 as place from events where workspace_id = $1) as places
      where seq = of and workspace_id = $1`
    await harness.pool.query(renumber, [reader.workspaceId])
    const positions = async (query: string) => {
      const { body } = await get(query, reader.key)
      return (body as { id: string }[]).map(({ id }) => id.split('-')[0])
    }
    expect(await positions('tail=9')).toEqual(['8', '9', '10', '11'])
    expect(await positions('tail=2')).toEqual(['10', '11'])
    const [first] = (await get('tail=9', reader.key)).body
    expect(await positions(`since=${first.id}&limit=2`)).toEqual(['9', '10'])
  })
})
