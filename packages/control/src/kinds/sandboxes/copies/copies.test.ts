/** @module-tag faults */
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Server } from '@offshoot/kit/test/s3-server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { copySettings } from '../../../test/copy-settings.ts'
import { OPERATOR_KEY } from '../../../test/operator.ts'

type Store = Parameters<typeof copySettings>[0]

describe('a copy of a hibernated sandbox', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let source: FakeAgent
  let control: RunningControl
  let alice: Tenant
  let folder: string
  let id: string

  const settings = (store: Store = { folder }) => copySettings(store)

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-copies-'))
    agents = await Promise.all([FakeAgent.start(), FakeAgent.start()])
    harness = await Harness.start()
    control = await harness.control(agents, settings())
    alice = await harness.tenant(control, 'alice')
    id = (await ask('POST', '', { template: 'base', persistent: true })).body.id
    source = agents.find(({ state }) => state.sandboxes.has(id)) as FakeAgent
  })

  afterEach(async () => {
    await harness.stop()
    await Promise.all(agents.map((agent) => agent.kill()))
    await rm(folder, { recursive: true, force: true })
  })

  const ask = async (method: string, path: string, body?: unknown) =>
    call(control.url, method, `/v1/sandboxes${path}`, { token: alice.key, ...(body !== undefined && { body }) })
  const exec = async () => ask('POST', `/${id}/exec`, { cmd: 'true' })
  const hibernate = async () => expect((await ask('POST', `/${id}/hibernate`)).status).toBe(200)
  const moveOf = () => source.state.sandboxes.get(id)?.move
  const copies = async () =>
    (
      await harness.pool.query(
        'select id, sandbox_id, state, reason, is_settled from sandbox_copies order by created_at',
      )
    ).rows
  const stored = async () => eventually(async () => (await copies()).find(({ state }) => state === 'stored'))
  const streams = async () => readdir(join(folder, 'streams'))
  const rowsOfStreams = async () =>
    (await harness.pool.query('select id, state, bake, reason from stored_streams order by created_at')).rows
  const restart = async (store?: Store) => {
    await control.stop()
    control = await harness.control(agents, settings(store))
  }

  it('is stored after a while, and the sandbox stays as it is for readers', async () => {
    await hibernate()
    await stored()
    expect(moveOf()).toMatchObject({ direction: 'leaving' })
    expect(await streams()).toHaveLength(2)
    expect((await ask('GET', `/${id}`)).body.status).toBe('hibernated')
    expect((await call(control.url, 'GET', '/v1/sandboxes', { token: alice.key })).body[0].status).toBe('hibernated')
    expect(await copies()).toHaveLength(1)
    expect(moveOf()).toMatchObject({ direction: 'leaving' })
  })

  it('is given up for every use, which works as without it', { tags: ['long'] }, async () => {
    const uses: [method: string, path: string, body?: object][] = [
      ['POST', 'exec', { cmd: 'true' }],
      ['PUT', 'fs?path=/tmp/file', {}],
      ['POST', 'wake'],
      ['POST', 'fork', { count: 1 }],
      ['POST', 'snapshots', { name: 'one' }],
      ['PATCH', 'lifecycle', { idle_timeout_seconds: 77 }],
    ]
    const ids = await Promise.all(
      uses.map(async () => (await ask('POST', '', { template: 'base', persistent: true })).body.id as string),
    )
    for (const each of ids) expect((await ask('POST', `/${each}/hibernate`)).status).toBe(200)
    await eventually(async () => (await copies()).filter(({ state }) => state === 'stored').length === uses.length)
    for (const [at, [method, path, body]] of uses.entries()) {
      const [sandbox = '', before] = [ids[at], (await copies()).find((each) => each.sandbox_id === ids[at])]
      const answer = await ask(method, `/${sandbox}/${path}`, body)
      expect([path, answer.status < 300]).toEqual([path, true])
      const after = (await copies()).find(({ id: copy }) => copy === before?.id)
      expect([path, after]).toMatchObject([path, { state: 'ended', reason: 'the sandbox is in use', is_settled: true }])
    }
  })

  it('is given up once for many requests at the same time', { tags: ['long'] }, async () => {
    await hibernate()
    await stored()
    const answers = await Promise.all(Array.from({ length: 20 }, exec))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect((await copies())[0]).toMatchObject({ state: 'ended', reason: 'the sandbox is in use', is_settled: true })
  })

  it('is deleted with its objects when the sandbox is deleted, and so is a bake that nobody needs', async () => {
    await hibernate()
    await stored()
    expect((await ask('DELETE', `/${id}`)).status).toBe(204)
    await eventually(async () => (await rowsOfStreams()).length === 0)
    expect(await copies()).toMatchObject([{ state: 'ended', reason: 'the sandbox was deleted', is_settled: true }])
    expect(await streams()).toEqual([])
  })

  it('shares the bake with the other copies of its workspace, and with no other', { tags: ['long'] }, async () => {
    const bob = await harness.tenant(control, 'bob')
    for (const { key } of [alice, alice, bob]) {
      const made = await call(control.url, 'POST', '/v1/sandboxes', { token: key, body: { template: 'base' } })
      await call(control.url, 'POST', `/v1/sandboxes/${made.body.id}/hibernate`, { token: key })
    }
    await eventually(async () => (await copies()).filter(({ state }) => state === 'stored').length === 3)
    const bakes = await harness.pool.query(`select workspace_id from stored_streams where bake is not null
      and state = 'stored'`)
    expect(bakes.rows).toHaveLength(2)
    expect(new Set(bakes.rows.map((row) => row.workspace_id))).toEqual(new Set([alice.workspaceId, bob.workspaceId]))
  })

  it('does not exist for a sandbox that cannot move', { tags: ['long'] }, async () => {
    source.state.cannotMove = 'it has volumes'
    await hibernate()
    await eventually(async () => (await copies())[0]?.is_settled === true)
    expect((await copies())[0]).toMatchObject({ state: 'ended', reason: 'it has volumes' })
    expect((await exec()).status).toBe(200)
  })

  it('is made later if the store cannot be written, while the sandbox works', { tags: ['long'] }, async () => {
    const s3 = await S3Server.start()
    try {
      await restart(s3.settings)
      for (const fault of ['error-500', 'full', 'cut'] as const) {
        s3.fault = fault
        const before = (await copies()).length
        await hibernate()
        await eventually(async () => {
          const made = (await copies()).slice(before)
          return made.some((copy) => copy.is_settled && copy.reason.startsWith('the object store: '))
        })
        expect((await exec()).status).toBe(200)
        expect((await ask('POST', `/${id}/wake`)).status).toBe(200)
      }
      s3.fault = 'none'
      await hibernate()
      await stored()
      expect((await rowsOfStreams()).filter(({ state }) => state === 'stored')).toHaveLength(2)
    } finally {
      await s3.stop()
    }
  })

  it('is not made by an agent whose version cannot export a bake alone', { tags: ['long'] }, async () => {
    source.state.knowsOnly = false
    await hibernate()
    await eventually(async () => (await copies())[0]?.is_settled === true)
    expect((await copies())[0]).toMatchObject({ reason: 'the version of the agent is too old for copies' })
    expect((await rowsOfStreams()).every(({ state }) => state === 'dropped')).toBe(true)
  })

  it('is given up when the service has no object store any more', { tags: ['long'] }, async () => {
    await hibernate()
    await stored()
    await control.stop()
    const { objects: _objects, ...others } = settings()
    control = await harness.control(agents, others)
    await eventually(async () => (await copies())[0]?.is_settled === true)
    expect(moveOf()).toBeUndefined()
    expect((await exec()).status).toBe(200)
  })

  it('is made later if the folder is away', { tags: ['long'] }, async () => {
    await rename(folder, `${folder}.away`)
    await hibernate()
    await eventually(async () => (await copies()).some(({ reason }) => reason?.startsWith('the object store: ')))
    expect((await exec()).status).toBe(200)
    await mkdir(folder)
    await rm(`${folder}.away`, { recursive: true })
  })

  it.each(['leave', 'export'])('is made although the answer to %s is lost', { tags: ['long'] }, async (step) => {
    source.lostAnswers.add(step)
    await hibernate()
    await stored()
    expect((await exec()).status).toBe(200)
  })

  it.each(['leave', 'export'])('begins anew if its process ends during %s', { tags: ['long'] }, async (step) => {
    const begun = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    source.onMove = async (action) => {
      if (action !== step) return undefined
      begun.resolve()
      await held.promise
      return undefined
    }
    await hibernate()
    await begun.promise
    const first = control
    control = await harness.control(agents, settings())
    await first.stop()
    held.resolve()
    await stored()
    expect((await exec()).status).toBe(200)
    expect((await copies())[0].is_settled).toBe(true)
  })

  it('is given up while it is made', { tags: ['long'] }, async () => {
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    source.onMove = async (action) => {
      if (action !== 'export') return undefined
      begun.resolve()
      await held.promise
      return undefined
    }
    await hibernate()
    await begun.promise
    expect((await exec()).status).toBe(200)
    expect(moveOf()).toBeUndefined()
    held.resolve()
    await eventually(async () => (await rowsOfStreams())[0]?.state === 'dropped')
    expect((await copies())[0]).toMatchObject({ state: 'ended', reason: 'the sandbox is in use', is_settled: true })
  })

  it('stays while its host does not answer', { tags: ['long'] }, async () => {
    await hibernate()
    await stored()
    const { port } = source
    await source.kill()
    const refused = await exec()
    expect([refused.status, refused.body.error]).toEqual([502, 'agent unreachable'])
    expect((await copies()).at(-1)).toMatchObject({ state: 'stored' })
    const again = await FakeAgent.start({ state: source.state, port })
    agents = agents.map((agent) => (agent === source ? again : agent))
    source = again
    await eventually(async () => (await exec()).status === 200)
    expect((await copies())[0]).toMatchObject({ state: 'ended', is_settled: true })
  })

  it('is given up by a drain, which moves the sandbox as any other', { tags: ['long'] }, async () => {
    await hibernate()
    await stored()
    const path = `/v1/admin/hosts/${source.state.agentId}/drain`
    expect((await call(control.url, 'POST', path, { token: OPERATOR_KEY })).status).toBe(200)
    await eventually(async () => {
      const { rows } = await harness.pool.query('select state from sandbox_moves where finished_at is not null')
      return rows[0]?.state === 'done'
    })
    expect((await copies())[0]).toMatchObject({ state: 'ended', is_settled: true })
    expect((await exec()).status).toBe(200)
  })

  it('is told to a host that learned of it too late', { tags: ['long'] }, async () => {
    source.state.cannotMove = 'not now'
    await hibernate()
    const copy = await eventually(async () => (await copies()).find(({ is_settled: isSettled }) => isSettled))
    const found = source.state.sandboxes.get(id) ?? fail()
    source.state.sandboxes.set(id, { ...found, move: { id: copy.id, direction: 'leaving' } })
    control.control.fleet.reconcileSoon(source.state.agentId)
    await eventually(() => moveOf()?.id !== copy.id)
    expect((await exec()).status).toBe(200)
  })
  it('keeps no sandbox from waking that the database knows nothing of, after a restored backup', async () => {
    await hibernate()
    await stored()
    await harness.pool.query('delete from sandbox_copies')
    expect((await exec()).status).toBe(409)
    control.control.fleet.reconcileSoon(source.state.agentId)
    await eventually(async () => (await exec()).status === 200)
  })
  it('ends if its host does not know of it, after a restored backup', { tags: ['long'] }, async () => {
    await hibernate()
    const { id: copy } = await stored()
    const { move: _gone, ...found } = source.state.sandboxes.get(id) ?? fail()
    source.state.sandboxes.set(id, found)
    await harness.pool.query(`update sandbox_copies set stored_at = stored_at - interval '2 minutes'`)
    control.control.fleet.reconcileSoon(source.state.agentId)
    await eventually(async () => (await copies()).find((each) => each.id === copy)?.is_settled)
    expect((await copies())[0]).toMatchObject({ state: 'ended', reason: 'the host does not know of it' })
  })
})

function fail(): never {
  throw new Error('the sandbox is gone')
}
