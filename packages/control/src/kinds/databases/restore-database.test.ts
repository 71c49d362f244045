import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { fakeDatabase } from '../../test/fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const MINUTE_MS = 60_000

let harness: Harness
let agent: FakeAgent
let running: RunningControl
let tenant: Tenant
let databaseId: string
let takenAt: Date

beforeAll(async () => {
  harness = await Harness.start()
  agent = await FakeAgent.start({ templates: ['postgres-16'] })
  running = await harness.control([agent])
  tenant = await harness.tenant(running, 'restores')
  databaseId = await fakeDatabase(harness, running, tenant)
  await ask('POST', `/v1/databases/${databaseId}/backups`, {})
  // Moves the backup into the past, so that there are times between it and now.
  takenAt = new Date(Date.now() - MINUTE_MS)
  await harness.pool.query('update database_backups set taken_at = $1', [takenAt])
})
afterAll(async () => {
  await harness.stop()
  await agent.kill()
})
afterEach(() => {
  agent.onOperation = () => false
  agent.onCreate = async () => undefined
})

const ask = (method: string, path: string, body?: object, token = tenant.key) =>
  call(running.url, method, path, { token, ...(body && { body }) })
const restore = (body: object, id = databaseId, token = tenant.key) =>
  ask('POST', `/v1/databases/${id}/restore`, body, token)
const between = () => ({ time: new Date(takenAt.getTime() + MINUTE_MS / 2).toISOString() })

/** Rows and sandboxes other than those of the parent database. */
async function left(): Promise<unknown[]> {
  const { rows } = await harness.pool.query('select id from databases where id <> $1', [databaseId])
  return [...rows, ...[...agent.state.sandboxes.keys()].filter((id) => id !== databaseId)]
}

/** Controls the outcome of `recover` in the restored VM; before it ends, the VM has requested segments. */
function recovers(end: (response: ServerResponse) => void): { fed: string[] } {
  const seen = { fed: [] as string[] }
  agent.onOperation = ({ url = '' }, response) => {
    if (url.endsWith('/archive/feed')) {
      seen.fed.push(url)
      return true
    }
    if (!url.endsWith('/exec/stream')) return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    end(response)
    return true
  }
  return seen
}

const says = (stderr: string) =>
  recovers((response) => {
    response.write(`event: stderr\ndata: ${JSON.stringify({ chunk: stderr })}\n\n`)
    response.end(`event: exit\ndata: ${JSON.stringify({ exit_code: 1, duration_ms: 1 })}\n\n`)
  })

describe('a restore is refused', () => {
  it('where its time is none that can be had', async () => {
    const before = new Date(takenAt.getTime() - 1).toISOString()
    for (const [body, error] of [
      [{}, 'time required'],
      [{ time: 1 }, 'time must be an RFC 3339 time with a time zone'],
      [{ time: `${'2'.repeat(10_000)}-01-01T00:00:00Z` }, 'time must be an RFC 3339 time with a time zone'],
      [{ time: '2026-02-30T00:00:00Z' }, 'time must be an RFC 3339 time with a time zone'],
      [{ time: new Date(Date.now() + MINUTE_MS).toISOString() }, 'time must not be in the future'],
      [{ time: before }, `time must not be before ${takenAt.toISOString()}`],
    ] as const)
      expect([body, await restore(body)]).toMatchObject([body, { status: 400, body: { error } }])
    expect(await left()).toEqual([])
  })

  it('of a database without a backup, of another workspace, and of none', async () => {
    const other = await fakeDatabase(harness, running, tenant)
    expect(await restore(between(), other)).toMatchObject({
      status: 400,
      body: { error: 'time must not be before the first backup, and there is none yet' },
    })
    await harness.pool.query('delete from databases where id = $1', [other])
    agent.state.sandboxes.delete(other)
    const stranger = await harness.tenant(running, 'strangers')
    expect(await restore(between(), databaseId, stranger.key)).toMatchObject({ status: 404 })
    for (const id of ['00000000-0000-4000-8000-000000000000', 'x'])
      expect(await restore(between(), id)).toMatchObject({ status: 404 })
  })

  it('where the archive falls short of the time, or cannot be recovered from, and nothing is left', async () => {
    for (const [stderr, detail] of [
      [
        'FATAL:  recovery ended before configured recovery target was reached',
        'the archive of the database does not reach that time',
      ],
      ['PANIC:  could not locate a valid checkpoint record', 'the database could not be brought to that time'],
    ] as const) {
      const { fed } = says(stderr)
      expect(await restore(between())).toMatchObject({ status: 409, body: { error: 'conflict', detail } })
      expect(fed).toHaveLength(1)
      expect(await left()).toEqual([])
    }
  })

  it('where there is no room for it, and nothing is left', async () => {
    agent.onCreate = async () => ({ status: 507, body: { error: 'insufficient host storage for sandbox' } })
    expect(await restore(between())).toMatchObject({
      status: 507,
      body: { error: 'insufficient host storage for sandbox' },
    })
    expect(await left()).toEqual([])
  })

  it('where the agent dies in the middle of it; what is there of it goes when the agent is back', async () => {
    const { state, port } = agent
    let killed: Promise<void> = Promise.resolve()
    recovers(() => {
      killed = agent.kill()
    })
    expect(await restore(between())).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    await killed
    expect(await left()).toHaveLength(2)
    agent = await FakeAgent.start({ templates: ['postgres-16'], state, port })
    await harness.pool.query('update databases set deletion_due_at = now() where deletion_due_at is not null')
    await eventually(async () => (await left()).length === 0, 30_000)
  })
})
