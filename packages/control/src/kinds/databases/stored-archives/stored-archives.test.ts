import { S3Server } from '@offshoot/kit/test/s3-server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copySettings } from '../../../test/copy-settings.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import type { FakeFile } from '../../../test/fake-agent-state.ts'
import { fakeDatabase } from '../../../test/fake-database.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const SEGMENTS = [1, 2, 3, 4, 5].map((n) => `00000001000000000000000${n}`)

function file(name: string, takenAt = new Date().toISOString()): [string, FakeFile] {
  return [name, { content: Buffer.from(`content of ${name}`), takenAt }]
}

describe('the archive of a database on a host without an object store', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let s3: S3Server
  let id: string

  beforeEach(async () => {
    s3 = await S3Server.start()
    agent = await FakeAgent.start({ templates: ['postgres-16'] })
    harness = await Harness.start()
    control = await harness.control([agent], copySettings(s3.settings))
    alice = await harness.tenant(control, 'alice')
    id = await fakeDatabase(harness, control, alice)
    agent.state.archives.set(id, new Map(SEGMENTS.map((name) => file(name))))
  })

  afterEach(async () => {
    await harness.stop()
    await agent.kill()
    await s3.stop()
  })

  const begin = async () =>
    harness.pool.query('insert into stored_archives (id, workspace_id, due_at) values ($1, $2, now())', [
      id,
      alice.workspaceId,
    ])
  const lookAgain = async () => harness.pool.query('update stored_archives set due_at = now()')
  const archive = () => agent.state.archives.get(id) ?? new Map<string, FakeFile>()
  const names = () => [...s3.objects.keys()].map((name) => name.split('/').at(-1) ?? '').toSorted()
  const read = async (name: string) =>
    control.control.storedSegments?.read(
      { workspaceId: alice.workspaceId, databaseId: id, name },
      new AbortController().signal,
    )
  const states = async () =>
    (await harness.pool.query('select name, state from stored_segments order by name')).rows.map(
      ({ name, state }) => `${name} ${state}`,
    )
  const rowOf = async () => (await harness.pool.query('select * from stored_archives')).rows[0]
  const asked = (end: RegExp) => agent.requests.filter(({ path }) => end.test(path)).length

  it('is stored, encrypted, and each file once', async () => {
    await begin()
    await eventually(() => names().length === 5)
    await eventually(async () => (await states()).every((state) => state.endsWith(' stored')))
    expect(names()).toEqual(SEGMENTS)
    expect([...s3.objects.keys()][0]).toContain(`/wal/${id}/`)
    expect([...s3.objects.values()].every((content) => !content.toString('latin1').includes('content of'))).toBe(true)
    expect(await read(SEGMENTS[0] ?? '')).toEqual({
      state: 'present',
      content: archive().get(SEGMENTS[0] ?? '')?.content,
    })
    archive().set(...file('00000002.history'))
    archive().set(...file('lost'))
    const before = asked(/files\/0{7}1/)
    await lookAgain()
    await eventually(() => names().length === 6)
    expect([names().at(-1), asked(/files\/0{7}1/)]).toEqual(['00000002.history', before])
  })

  it(
    'is looked at again while the database runs, and once after it has fallen asleep',
    { tags: ['faults'] },
    async () => {
      await begin()
      await eventually(async () => (await rowOf()).due_at?.getTime() > Date.now())
      archive().set(...file('000000010000000000000006'))
      await harness.pool.query(`update sandboxes set status = 'hibernated' where id = $1`, [id])
      await eventually(() => names().length === 6)
      await eventually(async () => (await rowOf()).due_at === null)
      archive().set(...file('000000010000000000000007'))
      await harness.pool.query(`update sandboxes set status = 'running' where id = $1`, [id])
      await eventually(() => names().length === 7)
      expect(agent.requests.some(({ path }) => path.endsWith('/wake'))).toBe(false)
    },
  )

  it(
    'waits on its host while the store fails, with the reason, and is stored later',
    { tags: ['faults'] },
    async () => {
      s3.fault = 'full'
      await begin()
      await eventually(async () => (await rowOf()).error !== null)
      expect((await rowOf()).error).toContain('XMinioStorageFull')
      expect([names(), (await states()).length]).toEqual([[], 1])
      s3.fault = 'none'
      await lookAgain()
      await eventually(() => names().length === 5)
      await eventually(async () => (await rowOf()).error === null)
      expect(archive().size).toBe(5)
    },
  )

  it(
    'is stored further by another process, and from the first file after a restart of the agent',
    { tags: ['long'] },
    async () => {
      const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      agent.onMove = async (step) => {
        if (step !== 'get-archive' || names().length < 2) return undefined
        begun.resolve()
        await held.promise
        return undefined
      }
      await begin()
      await begun.promise
      const second = await harness.control([agent], copySettings(s3.settings))
      await control.stop()
      control = second
      held.resolve()
      await eventually(async () => (await states()).length === 5 && names().length === 5)
      await harness.pool.query(`update stored_archives set cursor = '', due_at = now()`)
      const before = asked(/files\/./)
      await eventually(async () => (await rowOf()).due_at > new Date())
      expect(asked(/files\/./)).toBe(before)
    },
  )

  it(
    'is left to a host that stores it by itself, and to one whose agent is too old',
    { tags: ['faults'] },
    async () => {
      agent.state.storesArchives = true
      await begin()
      await eventually(async () => (await rowOf()).due_at > new Date())
      agent.state.storesArchives = false
      agent.onMove = async (step) =>
        step === 'list-archive' ? { status: 404, body: { error: 'not found' } } : undefined
      await lookAgain()
      await eventually(async () => (await rowOf()).due_at > new Date())
      expect([names(), (await rowOf()).error]).toEqual([[], null])
    },
  )

  it('loses the objects that no backup needs, and all of them with the database', { tags: ['faults'] }, async () => {
    const old = file('000000010000000000000000', new Date(0).toISOString())
    for (const [name, each] of [old, file('00000002.history', new Date(0).toISOString())]) archive().set(name, each)
    await begin()
    await eventually(async () => (await states()).filter((state) => state.endsWith(' stored')).length === 7)
    await call(control.url, 'POST', `/v1/databases/${id}/backups`, { token: alice.key, body: {} })
    await eventually(() => names().length === 6)
    expect(names()).toEqual([...SEGMENTS, '00000002.history'].toSorted())
    s3.fault = 'error-500'
    expect((await call(control.url, 'DELETE', `/v1/databases/${id}`, { token: alice.key })).status).toBe(204)
    expect((await states()).every((state) => state.endsWith(' dropped'))).toBe(true)
    s3.fault = 'none'
    await eventually(async () => names().length === 0 && (await rowOf()) === undefined, 30_000)
  })
})
