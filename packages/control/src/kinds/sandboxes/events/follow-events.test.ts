import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import type { WorkspaceEvent } from '@offshoot/contract/workspace-event'
import { readServerSentEvents, type ServerSentEvent } from '@offshoot/kit/server-sent-events'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

/** One reader of a stream. */
interface Reader {
  readonly status: number | undefined
  readonly frames: ServerSentEvent[]
  readonly events: () => WorkspaceEvent[]
  readonly stop: () => void
}

const typesOf = (events: readonly WorkspaceEvent[]) => events.map(({ type }) => type)

describe('the events of a workspace', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let other: RunningControl
  let alice: Tenant
  let bob: Tenant
  let tenants = 0

  beforeAll(async () => {
    // It lacks the apps' template, so every deployment fails.
    agent = await FakeAgent.start({ templates: ['base'] })
    harness = await Harness.start()
    control = await harness.control([agent])
    other = await harness.control([agent])
    bob = await harness.tenant(control, 'bob')
    await harness.pool.query(`insert into agents (id, url, info) values ('a', 'http://127.0.0.1:1', '{}')`)
  })

  beforeEach(async () => {
    tenants += 1
    alice = await harness.tenant(control, `alice${tenants}`)
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const list = (query: string, token = alice.key) => call(control.url, 'GET', `/v1/events?${query}`, { token })

  async function follow(query: string, { at = control, token = alice.key, headers = {} } = {}): Promise<Reader> {
    const request = httpGet(`${at.url}/v1/events?follow=1&${query}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      agent: false,
    })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const frames: ServerSentEvent[] = []
    const read = async () => {
      for await (const batch of readServerSentEvents(response)) frames.push(...batch)
    }
    read().catch(() => undefined)
    const stop = () => void request.destroy()
    onTestFinished(stop)
    return {
      status: response.statusCode,
      frames,
      events: () => frames.map(({ data }) => JSON.parse(data) as WorkspaceEvent),
      stop,
    }
  }

  /** Each change of a database is an event. */
  async function addDatabase({ workspaceId } = alice, on: { query: typeof harness.pool.query } = harness.pool) {
    const { rows } = await on.query<{ id: string }>(
      `insert into databases (id, workspace_id, size, status, secrets, broker_token_sha256, idle_timeout_seconds)
       values (gen_random_uuid(), $1, '1g', 'provisioning', '', '', 300) returning id`,
      [workspaceId],
    )
    return rows[0]?.id ?? ''
  }
  const setReady = (id: string) => harness.pool.query(`update databases set status = 'ready' where id = $1`, [id])

  it('are those of builds, deployments and databases, too', async () => {
    const database = await addDatabase()
    await setReady(database)
    const snapshot = randomUUID()
    await harness.pool.query(
      `insert into snapshots (id, workspace_id, agent_id, creator, sandbox_id, template, origin, status, size_bytes, cpu, memory_mb)
       values ($1, $2, 'a', 0, $3, 'x', 'backup', 'ready', 1, 1, 128)`,
      [snapshot, alice.workspaceId, database],
    )
    await harness.pool.query(`insert into database_backups values ($1, $2, 'request', '')`, [snapshot, database])
    await harness.pool.query(`update database_backups set verified = 'failed', verify_error = 'torn' where id = $1`, [
      snapshot,
    ])
    await harness.pool.query(`update databases set status = 'deleting' where id = $1`, [database])
    await harness.pool.query('delete from databases where id = $1', [database])
    const build = randomUUID()
    await harness.pool.query(
      `insert into template_builds (id, workspace_id, agent_id, creator, name, status, stage, size_mb, bytes)
       values ($1, $2, 'a', 0, 'mine', 'queued', 'waiting', 64, 1)`,
      [build, alice.workspaceId],
    )
    await harness.pool.query(
      `update template_builds set status = 'failed', error = 'reading: no tar', ended_at = now() where id = $1`,
      [build],
    )
    const body = { name: 'site', git_url: 'https://git.example.com/x.git' }
    const { body: app } = await call(control.url, 'POST', '/v1/apps', { token: alice.key, body })
    await call(control.url, 'POST', `/v1/apps/${app.id}/deploys`, { token: alice.key })
    await eventually(async () => typesOf((await list(`object=${app.id}`)).body).includes('deploy.failed'))
    const { body: events } = await list('since=2020-01-01T00:00:00Z&limit=1000')
    expect(typesOf(events)).toEqual([
      'database.created',
      'database.ready',
      'database.backup_created',
      'database.backup_failed',
      'database.deleted',
      'build.started',
      'build.failed',
      'deploy.queued',
      'deploy.building',
      'deploy.failed',
    ])
    expect(events[3]).toMatchObject({
      code: 'error',
      object: { kind: 'database', id: database },
      sandbox_id: null,
      agent_id: null,
      metadata: { backup_id: snapshot, error: 'torn' },
    })
    expect(events[6]).toMatchObject({ object: { kind: 'build', id: build }, metadata: { template: 'mine' } })
    expect(events[9]).toMatchObject({ code: 'error', metadata: { app_id: app.id, app: 'site', git_ref: 'main' } })
    expect((await list('object=mine')).body).toHaveLength(2)
    expect((await list(`object=${database}&type=database.backup_failed,build.*`)).body).toHaveLength(1)
    expect((await list(`sandbox_id=${database}`)).body).toEqual([])
    expect((await list('object=%00')).body).toEqual([])
    expect((await list('', bob.key)).body).toEqual([])
  })

  it('report a build that its agent never accepted, and nothing of a deleted workspace', async () => {
    const insert = `insert into template_builds (id, workspace_id, agent_id, creator, name, status, stage, size_mb, bytes)
      values (gen_random_uuid(), $1, 'a', 0, 'mine', 'queued', 'waiting', 64, 1)`
    await harness.pool.query(insert, [alice.workspaceId])
    await harness.pool.query('delete from template_builds where workspace_id = $1', [alice.workspaceId])
    // An event is listed when all transactions that began before its own have ended.
    await eventually(async () => (await list('tail=9')).body.length >= 2)
    expect(typesOf((await list('tail=9')).body)).toEqual(['build.started', 'build.failed'])
    await addDatabase()
    await harness.pool.query(insert, [alice.workspaceId])
    await harness.pool.query('delete from organization where id = $1', [alice.workspaceId])
    const { rows } = await harness.pool.query('select type from events where workspace_id = $1 order by seq', [
      alice.workspaceId,
    ])
    expect(typesOf(rows)).toEqual(['build.started', 'build.failed', 'database.created', 'build.started'])
  })

  it('are read in the order of their arrival, after an event or a time, or from the end', async () => {
    for (let n = 0; n < 5; n += 1) await addDatabase()
    await eventually(async () => (await list('tail=1000')).body.length >= 5)
    const { body: all } = await list('tail=1000')
    expect(all).toHaveLength(5)
    expect((await list('')).body).toHaveLength(5)
    expect(all).toEqual(expect.arrayContaining((await list('')).body))
    expect((await list('tail=2')).body).toEqual(all.slice(3))
    expect((await list('tail=0')).body).toEqual([])
    expect((await list(`since=${all[1].id}`)).body).toEqual(all.slice(2))
    expect((await list(`since=${all[1].id}&limit=2`)).body).toEqual(all.slice(2, 4))
    expect((await list(`since=${all[1].id}&tail=1`)).body).toEqual(all.slice(4))
    expect((await list(`since=${all[4].id}`)).body).toEqual([])
    const { ts } = all[2]
    expect((await list(`since=${ts}`)).body).toEqual(all.filter((each: WorkspaceEvent) => each.ts > ts))
    // Another workspace's id is only a position.
    expect((await list(`since=${all[0].id}`, bob.key)).body).toEqual([])
  })

  it.each([
    ['since=x', /^since must be the id of an event or an RFC 3339 timestamp$/],
    ['since=', /^since must be/],
    ['since=1-2-3', /^since must be/],
    ['since=2026-01-01', /^since must be/],
    ['since=1-1&since=1-2', /^since must be/],
    ['since=999999999999999999-1', /^since is the id of no event/],
    ['tail=-1', /^tail must be an integer from 0 to 1000$/],
    ['tail=1001', /^tail must be/],
    ['follow=maybe', /^follow must be one of/],
    ['type=deploy', /^type must be among /],
    ['type=deploy.*.x', /^type must be among /],
    ['object=', /^object must not be empty$/],
    [`object=${'x'.repeat(65)}`, /^object must be at most 64 characters$/],
    ['tail=1&cursor=x', /^cursor cannot be combined/],
  ])('refuse %s', async (query, error) => {
    for (const each of [query, `${query}&follow=1`]) {
      const { status, body } = await list(each)
      expect(status).toBe(400)
      expect(body.error).toMatch(error)
      if (query.startsWith('follow')) break
    }
  })

  it('need a credential that reads sandboxes', async () => {
    expect((await call(control.url, 'GET', '/v1/events?follow=1')).status).toBe(401)
    expect((await call(control.url, 'GET', '/v1/events?follow=1&access_token=ofs_x')).status).toBe(401)
  })

  it('are sent as they come, and after a reconnect to another process without a gap or a repeat', async () => {
    const made = [await addDatabase(), await addDatabase()]
    const first = await follow('tail=1')
    expect(first.status).toBe(200)
    await eventually(() => first.frames.length === 1)
    for (const id of made) await setReady(id)
    await addDatabase(bob)
    await eventually(() => first.frames.length === 3)
    expect(first.events().map(({ object, type }) => [object.id, type])).toEqual([
      [made[1], 'database.created'],
      [made[0], 'database.ready'],
      [made[1], 'database.ready'],
    ])
    expect(first.frames.map(({ event, id }) => [event, id])).toEqual(first.events().map(({ id }) => ['ev', id]))
    first.stop()
    // Nobody follows while these come.
    for (let n = 0; n < 3; n += 1) await addDatabase()
    const id = first.frames.at(-1)?.id ?? ''
    const second = await follow('tail=1', { at: other, headers: { 'last-event-id': id } })
    await eventually(() => second.frames.length === 3)
    await addDatabase()
    await eventually(() => second.frames.length === 4)
    const ids = [...first.frames, ...second.frames].map((frame) => frame.id)
    const { body } = await list('tail=1000')
    expect(ids).toEqual(body.slice(1).map((event: WorkspaceEvent) => event.id))
    const missed = await follow('', { headers: { 'last-event-id': '999999999999999999-1' } })
    expect(missed.status).toBe(400)
  })

  it('are filtered, and begin at the end if asked', async () => {
    await addDatabase()
    const builds = await follow('tail=0&type=build.*')
    const ready = await follow(`tail=0&type=database.ready`)
    const all = await follow('tail=0')
    const id = await addDatabase()
    await setReady(id)
    await eventually(() => all.frames.length === 2 && ready.frames.length === 1)
    expect(typesOf(ready.events())).toEqual(['database.ready'])
    expect(builds.frames).toEqual([])
  })

  it('are withheld while an earlier transaction runs, so that none is passed over', async () => {
    const reader = await follow('tail=0')
    const client = await harness.pool.connect()
    try {
      await client.query('begin')
      const early = await addDatabase(alice, client)
      const late = await addDatabase()
      expect((await list('tail=9')).body).toEqual([])
      expect((await list('')).body).toHaveLength(1)
      await client.query('commit')
      await eventually(() => reader.frames.length === 2)
      expect(reader.events().map(({ object }) => object.id)).toEqual([early, late])
    } finally {
      client.release()
    }
  })

  it('reach each of many followers, also one that does not read for a while', { tags: ['faults'] }, async () => {
    const slow = httpGet(`${control.url}/v1/events?follow=1&tail=0`, {
      headers: { authorization: `Bearer ${alice.key}` },
      agent: false,
    })
    onTestFinished(() => void slow.destroy())
    const [stalled] = (await once(slow, 'response')) as [IncomingMessage]
    const readers = await Promise.all(
      Array.from({ length: 5 }, (_, n) => follow('tail=0', { at: n % 2 === 0 ? control : other })),
    )
    const count = 3_000
    await harness.pool.query(
      `insert into databases (id, workspace_id, label, size, status, secrets, broker_token_sha256, idle_timeout_seconds)
       select gen_random_uuid(), $1, repeat('x', 1000), '1g', 'provisioning', '', '', 300 from generate_series(1, $2)`,
      [alice.workspaceId, count],
    )
    await eventually(() => readers.every(({ frames }) => frames.length === count))
    const ids: (string | null)[] = []
    for await (const batch of readServerSentEvents(stalled)) {
      ids.push(...batch.map(({ id }) => id))
      if (ids.length >= count) break
    }
    expect(ids).toEqual(readers[0]?.frames.map(({ id }) => id))
    await harness.pool.query('delete from databases where workspace_id = $1', [alice.workspaceId])
  })

  it('are sent on after the database was away for a while', async () => {
    const reader = await follow('tail=0')
    await harness.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'offshoot-control' and pid <> pg_backend_pid()`,
    )
    const id = await addDatabase()
    await eventually(() => reader.frames.length === 1)
    expect(reader.events()[0]?.object.id).toBe(id)
  })
})
