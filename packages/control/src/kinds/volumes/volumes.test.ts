// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { setPlan } from '../billing/limits/set-plan.ts'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

const MIB = 1024 * 1024

describe('volumes', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let other: Tenant
  let tenants = 0

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })
  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
    other = await harness.tenant(control, `other-${tenants}`)
    agent.onAction = async () => undefined
  })
  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown, token = tenant.key) =>
    call(control.url, method, path, { token, ...(body !== undefined && { body }) })
  const make = (body: object = {}) => ask('POST', '/v1/volumes', { name: 'data', ...body })
  const sandbox = (volumes: unknown, body: object = {}) =>
    ask('POST', '/v1/sandboxes', { template: 'base', volumes, ...body })
  const rows = async (): Promise<{ id: string; name: string; status: string; size_mb: number }[]> =>
    (
      await harness.pool.query('select id, name, status, size_mb from volumes where workspace_id = $1', [
        tenant.workspaceId,
      ])
    ).rows

  describe('POST /v1/volumes', () => {
    it('answers 201 with every field, and is found again by its name', async () => {
      const { status, body } = await make({ size_mb: 512 })
      expect({ status, body }).toEqual({
        status: 201,
        body: {
          name: 'data',
          size_mb: 512,
          size_bytes: 512 * MIB,
          used_bytes: 4096,
          agent_id: agent.state.agentId,
          attached_to: null,
          attachments: [],
          created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
        },
      })
      expect(await ask('GET', '/v1/volumes/data')).toMatchObject({ status: 200, body })
      expect(await ask('GET', '/v1/volumes')).toMatchObject({ status: 200, body: [body] })
    })

    it('has 256 MiB by default', async () => {
      expect((await make()).body).toMatchObject({ size_mb: 256 })
      expect((await make({ name: 'null', size_mb: null })).body).toMatchObject({ size_mb: 256 })
    })

    it.each([
      [{ name: undefined }, 'name is required'],
      [{ name: null }, 'name is required'],
      [{ name: '' }, 'name is required'],
      [{ name: 7 }, 'name must be a string'],
      [{ name: 'a/b' }, expect.stringContaining('name must be 1 to 64 characters')],
      [{ name: '-a' }, expect.stringContaining('name must be 1 to 64 characters')],
      [{ name: 'x'.repeat(65) }, 'name must be at most 64 characters'],
      [{ size_mb: 0 }, 'size_mb must be >= 1'],
      [{ size_mb: 65_537 }, 'size_mb must be <= 65536'],
      [{ size_mb: 1.5 }, 'size_mb must be an integer'],
      [{ size_mb: '256' }, 'size_mb must be an integer'],
    ])('refuses %j', async (change, error) => {
      expect(await make(change)).toMatchObject({ status: 400, body: { error } })
      expect(await rows()).toEqual([])
    })

    it('refuses what is no JSON object', async () => {
      for (const body of ['', '[]', '{', '"x"']) {
        const { status, body: answer } = await ask('POST', '/v1/volumes', body)
        expect({ status, error: answer.error }).toEqual({
          status: 400,
          error: body === '' ? 'name is required' : 'invalid json',
        })
      }
    })

    it('gives a name once a workspace, also to two who come at the same time', async () => {
      const answers = await Promise.all([make(), make(), make()])
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409])
      expect(answers.find(({ status }) => status === 409)?.body).toEqual({ error: 'volume already exists' })
      expect(await ask('POST', '/v1/volumes', { name: 'data' }, other.key)).toMatchObject({ status: 201 })
    })

    it('leaves no row when the agent has no room', async () => {
      agent.onAction = async () => ({ status: 507, body: { error: 'insufficient host storage for volume' } })
      expect(await make()).toMatchObject({ status: 507, body: { error: 'insufficient host storage for volume' } })
      expect(await rows()).toEqual([])
    })

    it('keeps to the plan under concurrent creates', async () => {
      await setPlan(harness.pool, tenant.workspaceId as WorkspaceId, 'free')
      expect(await make({ size_mb: 2048 })).toMatchObject({
        status: 429,
        body: { error: 'volume quota exceeded', max_size_mb: 1024 },
      })
      const answers = await Promise.all(Array.from({ length: 5 }, (_, n) => make({ name: `v${n}` })))
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 429, 429, 429, 429])
      expect(answers.find(({ status }) => status === 429)?.body).toMatchObject({ max: 1, active: 1 })
      const [{ name } = { name: '' }] = await rows()
      expect(await ask('PATCH', `/v1/volumes/${name}`, { size_mb: 2000 })).toMatchObject({ status: 429 })
    })
  })

  describe('a volume by its name', () => {
    it('is unknown to others, and so is what never was', async () => {
      await make()
      for (const [method, path, body] of [
        ['GET', '/v1/volumes/data'],
        ['PATCH', '/v1/volumes/data', { size_mb: 300 }],
        ['DELETE', '/v1/volumes/data'],
        ['POST', '/v1/volumes/data/clone', { name: 'copy' }],
        ['POST', '/v1/volumes/data/snapshots'],
        ['GET', '/v1/volumes/data/snapshots'],
      ] as const) {
        expect(await ask(method, path, body, other.key)).toMatchObject({ status: 404, body: { error: 'not found' } })
        expect(await ask(method, path.replace('data', 'none%00'), body)).toMatchObject({ status: 404 })
      }
      expect(await ask('GET', '/v1/volumes', undefined, other.key)).toMatchObject({ body: [] })
      expect(await ask('GET', '/v1/volumes/data')).toMatchObject({ status: 200 })
    })

    it('grows and does not shrink', async () => {
      await make({ size_mb: 512 })
      expect(await ask('PATCH', '/v1/volumes/data', { size_mb: 1024 })).toMatchObject({
        status: 200,
        body: { size_mb: 1024, size_bytes: 1024 * MIB },
      })
      expect((await ask('GET', '/v1/volumes/data')).body).toMatchObject({ size_mb: 1024 })
      expect(await ask('PATCH', '/v1/volumes/data', { size_mb: 512 })).toMatchObject({ status: 400 })
      expect(await ask('PATCH', '/v1/volumes/data', {})).toMatchObject({
        status: 400,
        body: { error: 'size_mb required' },
      })
      expect(await ask('PATCH', '/v1/volumes/data', { size_mb: 65_537 })).toMatchObject({ status: 400 })
    })

    it('is deleted once, and its name is free again', async () => {
      await make()
      expect((await ask('DELETE', '/v1/volumes/data')).status).toBe(204)
      expect((await ask('DELETE', '/v1/volumes/data')).status).toBe(404)
      expect(await make()).toMatchObject({ status: 201 })
    })
  })

  describe('a sandbox with volumes', () => {
    it('holds them, which its volumes say, until it is gone', async () => {
      await make()
      await make({ name: 'more' })
      const created = await sandbox([{ name: 'more', read_only: true }, { name: 'data' }])
      expect(created).toMatchObject({
        status: 201,
        body: {
          volumes: [
            { name: 'more', read_only: true },
            { name: 'data', read_only: false },
          ],
        },
      })
      const { id } = created.body
      const asked = agent.state.attached
        .get(id)
        ?.map(({ id: volume, read_only }) => [agent.state.volumes.get(volume)?.name, read_only])
      expect(asked).toEqual([
        ['more', true],
        ['data', false],
      ])
      expect((await ask('GET', '/v1/volumes/data')).body).toMatchObject({
        attached_to: id,
        attachments: [{ sandbox_id: id, read_only: false }],
      })
      const refused = await sandbox([{ name: 'data' }])
      expect(refused).toMatchObject({
        status: 409,
        body: { error: `volume data is attached to sandbox ${id}`, attached_to: id },
      })
      expect(await ask('DELETE', '/v1/volumes/data')).toMatchObject({ status: 409, body: { attached_to: id } })
      const { body } = await ask('GET', '/v1/sandboxes')
      expect(body).toHaveLength(1)
      await ask('DELETE', `/v1/sandboxes/${id}`)
      expect((await ask('GET', '/v1/volumes/data')).body).toMatchObject({ attached_to: null, attachments: [] })
      expect((await ask('DELETE', '/v1/volumes/data')).status).toBe(204)
    })

    it('is refused in words', async () => {
      await make()
      await ask('POST', '/v1/volumes', { name: 'theirs' }, other.key)
      expect(await sandbox([{ name: 'theirs' }])).toMatchObject({
        status: 404,
        body: { detail: 'unknown volume: theirs' },
      })
      expect(await sandbox([{ name: 'a\0b' }])).toMatchObject({ status: 404 })
      for (const volumes of [
        {},
        'data',
        [7],
        [{}],
        [{ name: 'data', read_only: 'yes' }],
        [{ name: 'data' }, { name: 'data', read_only: true }],
        Array.from({ length: 9 }, (_, n) => ({ name: `v${n}` })),
      ]) {
        expect({ volumes, status: (await sandbox(volumes)).status }).toEqual({ volumes, status: 400 })
      }
      expect((await ask('GET', '/v1/sandboxes')).body).toEqual([])
    })
  })

  describe('copies', () => {
    it('are volumes of their own', async () => {
      await make({ size_mb: 300 })
      expect(await ask('POST', '/v1/volumes/data/clone', { name: 'copy' })).toMatchObject({
        status: 201,
        body: { name: 'copy', size_mb: 300, attached_to: null },
      })
      expect(await ask('POST', '/v1/volumes/data/clone', { name: 'copy' })).toMatchObject({ status: 409 })
      expect(await ask('POST', '/v1/volumes/data/clone', {})).toMatchObject({
        status: 400,
        body: { error: 'name is required' },
      })
      expect((await ask('GET', '/v1/volumes')).body).toHaveLength(2)
    })

    it('are snapshots, which outlive their volume and become volumes', async () => {
      await make({ size_mb: 300 })
      const { status, body } = await ask('POST', '/v1/volumes/data/snapshots')
      expect({ status, body }).toMatchObject({ status: 201, body: { volume: 'data', size_mb: 300 } })
      expect((await ask('GET', '/v1/volumes/data/snapshots')).body).toEqual([body])
      expect((await ask('GET', '/v1/volumes')).body).toHaveLength(1)
      await ask('DELETE', '/v1/volumes/data')
      expect((await ask('GET', '/v1/volumes/data/snapshots')).body).toEqual([body])
      expect(await make({ name: 'again', from_snapshot: body.id, size_mb: 200 })).toMatchObject({ status: 400 })
      expect(await make({ name: 'again', from_snapshot: randomUUID() })).toMatchObject({ status: 404 })
      expect(await make({ name: 'again', from_snapshot: body.id })).toMatchObject({
        status: 201,
        body: { size_mb: 300 },
      })
      const theirs = { name: 'again', from_snapshot: body.id }
      expect(await ask('POST', '/v1/volumes', theirs, other.key)).toMatchObject({ status: 404 })
      expect((await ask('DELETE', `/v1/volumes/data/snapshots/${body.id}`, undefined, other.key)).status).toBe(404)
      expect((await ask('DELETE', `/v1/volumes/data/snapshots/${body.id}`)).status).toBe(204)
      expect((await ask('DELETE', `/v1/volumes/data/snapshots/${body.id}`)).status).toBe(404)
      expect((await ask('DELETE', '/v1/volumes/data/snapshots/x')).status).toBe(404)
    })
  })
})
