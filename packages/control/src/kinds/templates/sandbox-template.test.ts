import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { answerBuilds } from '../../test/fake-builds.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

let harness: Harness
let agent: FakeAgent
let control: RunningControl
let alice: Tenant
let bob: Tenant
let sandbox: string
let name = 0

beforeAll(async () => {
  agent = await FakeAgent.start()
  harness = await Harness.start()
  control = await harness.control([agent])
  alice = await harness.tenant(control, 'alice')
  bob = await harness.tenant(control, 'bob')
  sandbox = (await ask('POST', '/v1/sandboxes', { template: 'base' })).body.id
})
afterAll(async () => {
  await harness.stop()
  await agent.kill()
})
beforeEach(() => {
  name++
  agent.state.builds.refusal = undefined
})

const fresh = () => `mine-${name}`
const ask = (method: string, path: string, body?: unknown, { key }: Tenant = alice) =>
  call(control.url, method, path, { token: key, ...(body !== undefined && { body }) })
const make = (body: unknown, of = sandbox) => ask('POST', `/v1/sandboxes/${of}/template`, body)
const buildsOf = async (title: string) => (await ask('GET', `/v1/templates/${title}/builds`)).body

async function done(id: string): Promise<void> {
  agent.state.builds.finish(id)
  await eventually(async () => (await ask('GET', `/v1/builds/${id}`)).body.ended_at !== null)
}

describe('POST /v1/sandboxes/{id}/template', () => {
  it('answers with a build, which ends in a template of the workspace', async () => {
    const { status, body } = await make({ name: fresh(), start_cmd: 'serve' })
    expect({ status, body }).toMatchObject({
      status: 202,
      body: { name: fresh(), size_mb: 64, bytes: 4096, error: null, ended_at: null },
    })
    expect(agent.state.builds.ofSandboxes.get(body.id)).toEqual({
      id: body.id,
      name: fresh(),
      memory: false,
      start_cmd: 'serve',
    })
    expect(await make({ name: fresh() })).toMatchObject({ status: 409, body: { error: 'template already exists' } })
    await done(body.id)
    expect(await ask('GET', `/v1/templates/${fresh()}`)).toMatchObject({ status: 200, body: { is_global: false } })
    expect(await ask('GET', `/v1/templates/${fresh()}`, undefined, bob)).toMatchObject({ status: 404 })
    expect(await ask('POST', '/v1/sandboxes', { template: fresh() })).toMatchObject({ status: 201 })
    expect(await make({ name: fresh() })).toMatchObject({ status: 409, body: { error: 'template already exists' } })
    const second = await make({ name: fresh(), memory: true, replace: true })
    expect(second).toMatchObject({ status: 202 })
    expect(agent.state.builds.ofSandboxes.get(second.body.id)).toMatchObject({ memory: true })
    await done(second.body.id)
    await eventually(() => {
      control.control.fleet.reconcileSoon(agent.state.agentId)
      return !agent.state.builds.templates.has(body.id)
    })
  })

  it.each([
    [{}, 'name is required'],
    [{ name: 7 }, 'name must be a string'],
    [{ name: 'builds' }, 'name must not be "build" or "builds"'],
    [{ name: 'a/b' }, 'name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_" and "-"'],
    [{ name: 'x'.repeat(65) }, 'name must be at most 64 characters'],
    [{ name: 'n', memory: 'yes' }, 'memory must be a boolean'],
    [{ name: 'n', replace: 1 }, 'replace must be a boolean'],
    [{ name: 'n', start_cmd: [] }, 'start_cmd must be a string'],
    [{ name: 'n', memory: true, start_cmd: 'x' }, 'start_cmd is for a template without memory'],
    [{ name: 'n', memory: true, ready_cmd: 'x' }, 'ready_cmd is for a template without memory'],
    [[], 'invalid json'],
  ])('refuses %j', async (body, error) => {
    expect(await make(body)).toMatchObject({ status: 400, body: { error } })
  })

  it("refuses a global name, what is not there, another workspace's, and what its agent refuses", async () => {
    expect(await make({ name: 'base', replace: true })).toMatchObject({ status: 409 })
    for (const id of ['no-id', '00000000-0000-4000-8000-000000000000'])
      expect(await make({ name: fresh() }, id)).toMatchObject({ status: 404, body: { error: 'not found' } })
    expect(await ask('POST', `/v1/sandboxes/${sandbox}/template`, { name: fresh() }, bob)).toMatchObject({
      status: 404,
    })
    const paused = { error: 'sandbox not running (paused or hibernated) — resume/wake it first' }
    agent.state.builds.refusal = { status: 409, body: paused }
    expect(await make({ name: fresh() })).toMatchObject({ status: 409, body: paused })
    agent.state.builds.refusal = { status: 429, body: { error: 'max builds reached', max: 8, active: 8 } }
    expect(await make({ name: fresh() })).toMatchObject({ status: 429, body: { max: 8, active: 8 } })
    agent.state.builds.refusal = { status: 507, body: { error: 'no room' } }
    expect(await make({ name: fresh() })).toMatchObject({
      status: 507,
      body: { error: 'insufficient host storage for template' },
    })
    expect(await buildsOf(fresh())).toMatchObject({ error: 'not found' })
  })

  it('whose answer is lost is settled by what its agent has', async () => {
    agent.onOperation = (request, response) => {
      void text(request).then((body) => {
        const asked = {
          method: 'POST',
          path: request.url ?? '',
          workspaceId: alice.workspaceId,
          body: JSON.parse(body),
        }
        answerBuilds(agent.state.builds, asked)
        return response.destroy()
      })
      return true
    }
    try {
      expect(await make({ name: fresh() })).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    } finally {
      agent.onOperation = () => false
    }
    const [build] = await buildsOf(fresh())
    expect(build).toMatchObject({ name: fresh(), ended_at: null })
    await done(build.id)
    expect((await buildsOf(fresh()))[0]).toMatchObject({ status: 'done', size_mb: 64, bytes: 4096 })
  })
})
