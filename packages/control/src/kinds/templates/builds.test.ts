import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

let harness: Harness
let agent: FakeAgent
let control: RunningControl
let alice: Tenant
let bob: Tenant
let name = 0

beforeAll(async () => {
  agent = await FakeAgent.start()
  harness = await Harness.start()
  control = await harness.control([agent])
  alice = await harness.tenant(control, 'alice')
  bob = await harness.tenant(control, 'bob')
})
afterAll(async () => {
  await harness.stop()
  await agent.kill()
})
beforeEach(() => {
  name++
})

const ROOTFS = Buffer.from('what is in the archive is not for control to know')
const SHA256 = createHash('sha256').update(ROOTFS).digest('hex')
const fresh = () => `mine-${name}`
const as = (tenant: Tenant) => (method: string, path: string, body?: unknown) =>
  call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
const asAlice: ReturnType<typeof as> = (...args) => as(alice)(...args)

async function send(
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
  query = '',
  token = alice.key,
) {
  const response = await fetch(`${control.url}/v1/templates/build${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body,
  })
  // The OpenAPI document of the running service, untyped.
  // oxlint-disable-next-line typescript/no-explicit-any
  return { status: response.status, body: (await response.json()) as any }
}

function form(fields: Record<string, string>, order: 'before' | 'after' = 'before'): FormData {
  const data = new FormData()
  const file = new Blob([ROOTFS])
  if (order === 'after') data.set('rootfs', file, 'rootfs.tar')
  for (const [key, value] of Object.entries(fields)) data.set(key, value)
  if (order === 'before') data.set('rootfs', file, 'rootfs.tar')
  return data
}

const cut = (head: string, name = 'rootfs') =>
  `--x\r\n${head}Content-Disposition: form-data; name="${name}"; filename="r.tar"\r\n\r\nhalf of what`

const json = (fields: Record<string, unknown>) => JSON.stringify({ rootfs: ROOTFS.toString('base64'), ...fields })

async function begun(fields: Record<string, string> = {}): Promise<string> {
  const { status, body } = await send(form({ name: fresh(), ...fields }))
  expect({ status, body }).toMatchObject({ status: 202 })
  return body.id
}

const untilSettled = (id: string) =>
  eventually(async () => (await asAlice('GET', `/v1/builds/${id}`)).body.ended_at !== null)

async function built(fields: Record<string, string> = {}): Promise<string> {
  const id = await begun(fields)
  agent.state.builds.finish(id)
  await untilSettled(id)
  return id
}

describe('POST /v1/templates/build', () => {
  const forms: Record<
    string,
    (fields: Record<string, string>) => Promise<{ status: number; body: Record<string, unknown> }>
  > = {
    'a form': (fields) => send(form(fields)),
    'a form whose file comes first': (fields) => send(form(fields, 'after')),
    'the archive itself': (fields) =>
      send(ROOTFS, { 'content-type': 'application/x-tar' }, `?${new URLSearchParams(fields).toString()}`),
    JSON: ({ size_mb: size, cpu, ...fields }) => send(json({ ...fields, size_mb: Number(size), cpu: Number(cpu) })),
  }

  it.each(Object.entries(forms))('takes %s', async (_kind, post) => {
    const { status, body } = await post({
      name: fresh(),
      size_mb: '2048',
      cpu: '2',
      start_cmd: 'serve',
      ready_cmd: 'true',
    })
    expect({ status, body }).toEqual({
      status: 202,
      body: {
        id: expect.any(String),
        name: fresh(),
        status: 'queued',
        stage: 'waiting',
        percent: 0,
        error: null,
        created_at: expect.stringMatching(/Z$/),
        started_at: null,
        ended_at: null,
        size_mb: 2048,
        bytes: ROOTFS.length,
      },
    })
    const id = body['id'] as string
    expect(agent.state.builds.uploads.get(id)).toEqual({ bytes: ROOTFS.length, sha256: SHA256 })
    const commands = { start_cmd: 'serve', ready_cmd: 'true' }
    expect(agent.state.builds.bodies.get(id)).toEqual({
      id,
      name: fresh(),
      size_mb: 2048,
      cpu: 2,
      memory_mb: 512,
      ...commands,
    })
    expect((await asAlice('GET', `/v1/builds/${id}`)).body).toMatchObject({ id, status: 'running', stage: 'unpacking' })
  })

  const refusals: [string, number, string, () => Promise<{ status: number; body: Record<string, unknown> }>][] = [
    ['no name', 400, 'name is required', () => send(form({}))],
    ['a reserved name', 400, 'name must not be "build" or "builds"', () => send(form({ name: 'builds' }))],
    ['a long name', 400, 'name must be at most 64 characters', () => send(form({ name: 'x'.repeat(65) }))],
    [
      'a bad name',
      400,
      'name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-"',
      () => send(form({ name: 'a b' })),
    ],
    ['a name of dots', 400, 'name must not be "." or ".."', () => send(form({ name: '..' }))],
    ['a size that is no number', 400, 'size_mb must be an integer', () => send(form({ name: 'n', size_mb: 'big' }))],
    ['a size too large', 400, 'size_mb must be <= 16384', () => send(form({ name: 'n', size_mb: '16385' }))],
    ['too little memory', 400, 'memory_mb must be >= 128', () => send(form({ name: 'n', memory_mb: '1' }))],
    ['a flag that is none', 400, 'replace must be a boolean', () => send(form({ name: 'n', replace: 'perhaps' }))],
    ['no archive in JSON', 400, 'rootfs is required', () => send(JSON.stringify({ name: 'n' }))],
    ['no base64', 400, 'rootfs must be base64', () => send(JSON.stringify({ name: 'n', rootfs: '???' }))],
    [
      'a megabyte of spaces in the place of base64',
      400,
      'rootfs must be base64',
      () => send(JSON.stringify({ name: 'n', rootfs: `${' '.repeat(1024 * 1024)}!` })),
    ],
    ['no JSON', 400, 'invalid json', () => send('{')],
    ['a list', 400, 'invalid json', () => send('[]')],
    ['a wrong type in JSON', 400, 'size_mb must be an integer', () => send(json({ name: 'n', size_mb: '9' }))],
    ['a global name', 409, 'template already exists', () => send(form({ name: 'base', replace: 'true' }))],
  ]
  it.each(refusals)('refuses %s', async (_what, status, error, post) => {
    const before = agent.state.builds.builds.size
    expect(await post()).toMatchObject({ status, body: { error } })
    expect(agent.state.builds.builds.size).toBe(before)
  })

  it('refuses a form without an archive, cut short or without a boundary', async () => {
    const data = new FormData()
    data.set('name', fresh())
    expect(await send(data)).toMatchObject({ status: 400, body: { error: 'rootfs is required' } })
    data.set('rootfs', 'text')
    expect(await send(data)).toMatchObject({ status: 400, body: { error: 'rootfs must be a file' } })
    const type = { 'content-type': 'multipart/form-data; boundary=x' }
    expect(await send('--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nn', type)).toMatchObject({
      status: 400,
    })
    expect(await send('x', { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400 })
  })

  const cutForms: Record<string, () => string> = {
    'in the archive': () => cut(''),
    'in the archive, after its fields': () =>
      cut(`Content-Disposition: form-data; name="name"\r\n\r\n${fresh()}\r\n--x\r\n`),
    'in the archive, after fields that are refused': () =>
      cut('Content-Disposition: form-data; name="name"\r\n\r\na/b\r\n--x\r\n'),
    'in a file that is not asked for': () => cut('', 'other'),
    'in the head of the archive': () => cut('').slice(0, 40),
  }
  it.each(Object.entries(cutForms))('answers a form that ends %s, and lives on', async (_what, body) => {
    expect(await send(body(), { 'content-type': 'multipart/form-data; boundary=x' })).toMatchObject({ status: 400 })
    expect(await send(form({ name: 'a/b' }))).toMatchObject({ status: 400 })
  })

  it('refuses a name that is taken, or is being built, unless it is to be replaced', async () => {
    const first = await begun()
    expect(await send(form({ name: fresh() }))).toMatchObject({
      status: 409,
      body: { error: 'template already exists' },
    })
    agent.state.builds.finish(first)
    await untilSettled(first)
    expect(await send(form({ name: fresh() }, 'after'))).toMatchObject({ status: 409 })
    const { body: before } = await asAlice('GET', `/v1/templates/${fresh()}`)
    const second = await built({ replace: 'true' })
    const { body: after } = await asAlice('GET', `/v1/templates/${fresh()}`)
    expect(after.created_at).toBe(before.created_at)
    expect(before.updated_at).toBe(before.created_at)
    expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(before.updated_at))
    expect(
      (await asAlice('GET', '/v1/templates')).body.filter((each: { name: string }) => each.name === fresh()),
    ).toHaveLength(1)
    await eventually(() => {
      control.control.fleet.reconcileSoon(agent.state.agentId)
      return !agent.state.builds.templates.has(first)
    })
    expect(agent.state.builds.templates.has(second)).toBe(true)
    // Another workspace may use the same name.
    expect(await send(form({ name: fresh() }), {}, '', bob.key)).toMatchObject({ status: 202 })
  })
})

describe('a build', () => {
  it('ends in a template that sandboxes are made from, for its workspace alone', async () => {
    const id = await built({ memory_mb: '256' })
    const template = {
      name: fresh(),
      is_global: false,
      cpu: 1,
      memory_mb: 256,
      rootfs_path: `templates/${id}/rootfs.ext4`,
    }
    expect((await asAlice('GET', `/v1/templates/${fresh()}`)).body).toMatchObject(template)
    const made = await asAlice('POST', '/v1/sandboxes', { template: fresh() })
    expect(made).toMatchObject({ status: 201, body: { template: fresh() } })
    expect(agent.state.sandboxes.get(made.body.id)?.template).toBe(id)
    for (const path of [`/v1/builds/${id}`, `/v1/templates/builds/${id}`]) {
      expect(await asAlice('GET', path)).toMatchObject({ status: 200, body: { status: 'done', percent: 100 } })
      expect(await as(bob)('GET', path)).toMatchObject({ status: 404 })
      expect(await as(bob)('DELETE', path)).toMatchObject({ status: 404 })
      expect(await as(bob)('GET', `${path}/logs`)).toMatchObject({ status: 404 })
      expect(await asAlice('GET', `${path}/logs`)).toMatchObject({ status: 200, body: { log: 'of the agent' } })
    }
    for (const path of [`/v1/templates/${fresh()}/builds`, '/v1/templates/builds'])
      expect((await asAlice('GET', path)).body[0]).toMatchObject({ id })
    for (const path of [`/v1/templates/${fresh()}`, `/v1/templates/${fresh()}/builds`])
      expect(await as(bob)('GET', path)).toMatchObject({ status: 404 })
    expect(await as(bob)('POST', '/v1/sandboxes', { template: fresh() })).toMatchObject({ status: 404 })
    expect(await as(bob)('DELETE', `/v1/templates/${fresh()}`)).toMatchObject({ status: 404 })
    expect(await asAlice('DELETE', `/v1/templates/${fresh()}`)).toMatchObject({ status: 204 })
    expect(await asAlice('DELETE', `/v1/templates/${fresh()}`)).toMatchObject({ status: 404 })
    expect(agent.state.builds.templates.has(id)).toBe(false)
    expect(await asAlice('POST', '/v1/sandboxes', { template: fresh() })).toMatchObject({ status: 404 })
    // Sandboxes created from the template keep running.
    expect(await asAlice('GET', `/v1/sandboxes/${made.body.id}`)).toMatchObject({ body: { status: 'running' } })
  })

  it('that failed says why, and leaves its name free', async () => {
    const id = await begun()
    agent.state.builds.finish(id, 'unpacking: etc/x: no room left')
    await untilSettled(id)
    expect((await asAlice('GET', `/v1/builds/${id}`)).body).toMatchObject({
      status: 'failed',
      error: 'unpacking: etc/x: no room left',
    })
    expect(await asAlice('GET', `/v1/templates/${fresh()}`)).toMatchObject({ status: 404 })
    expect(await asAlice('GET', `/v1/templates/${fresh()}/builds`)).toMatchObject({ status: 200, body: [{ id }] })
    expect(await asAlice('GET', '/v1/templates/nobodys/builds')).toMatchObject({ status: 404 })
    await begun()
  })

  it('is cancelled by DELETE, and stays as it ended', async () => {
    const id = await begun()
    for (let i = 0; i < 2; i++) expect(await asAlice('DELETE', `/v1/builds/${id}`)).toMatchObject({ status: 204 })
    expect((await asAlice('GET', `/v1/builds/${id}`)).body).toMatchObject({
      status: 'failed',
      error: 'unpacking: cancelled',
    })
  })

  it('that its agent has lost has failed, and a template that no row names goes', async () => {
    const id = await begun()
    agent.state.builds.builds.delete(id)
    agent.state.builds.templates.set(id, alice.workspaceId)
    await harness.pool.query("update template_builds set created_at = now() - interval '1 hour' where id = $1", [id])
    await untilSettled(id)
    expect((await asAlice('GET', `/v1/builds/${id}`)).body).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('lost'),
    })
    await eventually(() => {
      control.control.fleet.reconcileSoon(agent.state.agentId)
      return !agent.state.builds.templates.has(id)
    })
  })

  it('of a global template there is none, and it cannot be deleted', async () => {
    expect(await asAlice('DELETE', '/v1/templates/base')).toMatchObject({ status: 403 })
    expect(await asAlice('GET', '/v1/templates/base/builds')).toMatchObject({ status: 200, body: [] })
  })
})
