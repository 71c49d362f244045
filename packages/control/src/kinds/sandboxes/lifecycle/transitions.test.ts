// Helper functions stand next to the tests that use them.
// oxlint-disable unicorn/consistent-function-scoping
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, type CallOptions, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const STOPPED = 'sandbox not running (paused or hibernated) — resume/wake it first'
const MOVES = ['pause', 'resume', 'hibernate', 'wake'] as const

describe('pause, resume, hibernate, wake', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let id: string

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'alice')
  })

  beforeEach(async () => {
    agent.onAction = async () => undefined
    id = (await call(control.url, 'POST', '/v1/sandboxes', { token: tenant.key, body: { template: 'base' } })).body.id
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const move = (transition: string, options: CallOptions = {}) =>
    call(control.url, 'POST', `/v1/sandboxes/${id}/${transition}`, { token: tenant.key, ...options })
  const get = () => call(control.url, 'GET', `/v1/sandboxes/${id}`, { token: tenant.key })
  const setStatus = (status: string) =>
    harness.pool.query('update sandboxes set status = $2, last_event_seq = 1000000 where id = $1', [id, status])

  it.each([
    [['pause'], 'paused'],
    [['pause', 'pause'], 'paused'],
    [['pause', 'resume'], 'running'],
    [['resume'], 'running'],
    [['wake'], 'running'],
    [['hibernate'], 'hibernated'],
    [['hibernate', 'hibernate'], 'hibernated'],
    [['hibernate', 'wake'], 'running'],
  ])('%j ends %s, as GET shows it', async (transitions, status) => {
    const answers = []
    for (const transition of transitions) answers.push(await move(transition))
    expect(answers.map((answer) => answer.status)).toEqual(transitions.map(() => 200))
    expect(answers.at(-1)?.body).toEqual((await get()).body)
    expect(answers.at(-1)?.body).toMatchObject({ id, status })
  })

  it('wake says when the sandbox was booted from its disk, and only then', async () => {
    await move('hibernate')
    agent.onAction = async (action, woken) => {
      if (action !== 'wake') return undefined
      agent.log('sandbox.woken', woken)
      return { status: 200, body: { ...agent.state.sandboxes.get(woken), cold: true } }
    }
    expect((await move('wake')).body).toMatchObject({ id, status: 'running', cold: true })
    agent.onAction = async () => undefined
    expect((await move('wake')).body).not.toHaveProperty('cold')
    expect((await get()).body).not.toHaveProperty('cold')
  })

  it.each([
    [['hibernate'], 'pause'],
    [['hibernate'], 'resume'],
    [['pause'], 'hibernate'],
    [['pause'], 'wake'],
  ] as const)('after %j, %s is passed on with the 409 of the agent', async (before, transition) => {
    for (const each of before) await move(each)
    expect(await move(transition)).toMatchObject({ status: 409, body: { error: STOPPED } })
  })

  it.each(MOVES)('%s many times at once is one change', async (transition) => {
    if (transition === 'resume') await move('pause')
    if (transition === 'wake') await move('hibernate')
    const logged = agent.state.records.length
    const answers = await Promise.all(Array.from({ length: 20 }, () => move(transition)))
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200))
    expect(agent.state.records.length).toBe(logged + 1)
  })

  it('does not put back what the log has said since', async () => {
    agent.onAction = async () => {
      const paused = agent.log('sandbox.paused', id)
      agent.log('sandbox.resumed', id)
      const vm = agent.state.sandboxes.get(id)
      const seen = async () =>
        (await harness.pool.query('select last_event_seq::int as seq from sandboxes where id = $1', [id])).rows[0].seq
      while ((await seen()) <= paused.seq) await new Promise(setImmediate)
      return { status: 200, body: { ...vm, status: 'paused', last_seq: paused.seq } }
    }
    expect((await move('pause')).body.status).toBe('running')
  })

  it.each([
    ['no body', {}],
    ['an object', { body: {} }],
    ['fields nobody knows', { body: { force: true } }],
    ['nothing as text', { body: '', headers: { 'content-type': 'text/plain' } }],
  ])('takes %s', async (_name, options) => {
    expect((await move('pause', options)).status).toBe(200)
  })

  it.each(['{', '[]', 'null'])('refuses %s as invalid json, and does nothing', async (body) => {
    expect(await move('pause', { body })).toMatchObject({ status: 400, body: { error: 'invalid json' } })
    expect((await get()).body.status).toBe('running')
  })

  it.each(MOVES)('%s answers 404 for an unknown id, a malformed one and another workspace’s', async (transition) => {
    const other = await harness.tenant(control, `other-${transition}`)
    for (const [sandbox, token] of [
      [randomUUID(), tenant.key],
      ['nothing', tenant.key],
      [id, other.key],
    ] as const) {
      const answer = await call(control.url, 'POST', `/v1/sandboxes/${sandbox}/${transition}`, { token })
      expect(answer).toMatchObject({ status: 404, body: { error: 'not found' } })
    }
    expect(await call(control.url, 'POST', `/v1/sandboxes/${id}/${transition}`)).toMatchObject({ status: 401 })
  })

  it.each(MOVES)('%s answers 404 while there is no VM', async (transition) => {
    for (const status of ['creating', 'failed']) {
      await setStatus(status)
      expect(await move(transition)).toMatchObject({ status: 404, body: { error: 'sandbox not found or not running' } })
    }
  })

  it.each([
    [404, 'sandbox not found', 404, 'sandbox not found'],
    [409, 'conflict', 409, 'conflict'],
    [503, 'shutting down', 502, 'agent unreachable'],
    [507, 'insufficient host memory for sandbox', 507, 'insufficient host memory for sandbox'],
    [500, 'the disk is on fire', 500, 'internal error'],
    [401, 'unauthorized', 500, 'internal error'],
  ])('an agent’s %i %s is a %i', async (status, error, answered, text) => {
    agent.onAction = async () => ({ status, body: { error } })
    expect(await move('pause')).toMatchObject({ status: answered, body: { error: text } })
    expect((await get()).body.status).toBe('running')
  })

  it('a guest operation on a paused sandbox is refused in the words of the agent', async () => {
    await move('pause')
    agent.onExec = async () => ({ status: 409, body: { error: STOPPED } })
    const options = { token: tenant.key, body: { cmd: 'true' } }
    const answer = await call(control.url, 'POST', `/v1/sandboxes/${id}/exec`, options)
    expect(answer).toMatchObject({ status: 409, body: { error: STOPPED } })
  })

  it('answers 502 while the agent is away', async () => {
    const lost = await FakeAgent.start()
    const alone = await harness.control([lost])
    const options = { token: tenant.key }
    const created = await call(alone.url, 'POST', '/v1/sandboxes', { ...options, body: { template: 'base' } })
    await lost.kill()
    const answer = await call(alone.url, 'POST', `/v1/sandboxes/${created.body.id}/pause`, options)
    expect(answer).toMatchObject({ status: 502, body: { error: 'agent unreachable' } })
    await alone.stop()
  })
})
