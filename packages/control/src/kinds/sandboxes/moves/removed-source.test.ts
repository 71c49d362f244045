/** @module-tag long */
import { findFreePort } from '@offshoot/kit/free-port'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAgentState } from '../../../test/fake-agent-state.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'
import { JoiningHost } from '../../../test/joining-host.ts'
import { holdStep } from '../../../test/hold-step.ts'
import { OPERATOR, OPERATOR_KEY } from '../../../test/operator.ts'

/** The joined host, which is the source, answers the others. */
const DESTINATION_STEPS = new Set(['import', 'stay'])

describe('a sandbox whose host is removed while it moves away', () => {
  let harness: Harness
  let first: FakeAgent
  let joined: FakeAgent
  let hostId: string
  let control: RunningControl
  let alice: Tenant
  let id: string

  beforeEach(async () => {
    first = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([first], OPERATOR)
    alice = await harness.tenant(control, 'alice')
    await join()
    await operate('POST', `${first.state.agentId}/cordon`)
    id = (await ask('POST', '', { template: 'base' })).body.id
    await operate('POST', `${first.state.agentId}/uncordon`)
  })

  afterEach(async () => {
    await harness.stop()
    await first.kill()
    await joined.kill()
  })

  const join = async () => {
    const port = await findFreePort()
    const host = new JoiningHost(`https://127.0.0.1:${port}`)
    await host.join(control, (await operate('POST', 'tokens')).body.token)
    hostId = host.joined?.host_id ?? ''
    const state = new FakeAgentState(hostId)
    joined = await FakeAgent.start({ state, port, tls: host.identity, secret: host.joined?.secret ?? '' })
    await eventually(() => control.control.fleet.byId(hostId)?.isReachable)
  }
  const operate = async (method: string, path: string) =>
    call(control.url, method, `/v1/admin/hosts/${path}`, { token: OPERATOR_KEY })
  const ask = async (method: string, path: string, body?: unknown) =>
    call(control.url, method, `/v1/sandboxes${path}`, { token: alice.key, ...(body !== undefined && { body }) })
  const rows = async () =>
    (await harness.pool.query('select state, reason, left_behind, finished_at from sandbox_moves')).rows
  /** Removes the host at this step of the move, and returns after the end of the move. */
  const removeDuring = async (step: string) => {
    const held = holdStep([DESTINATION_STEPS.has(step) ? first : joined], step)
    expect((await operate('POST', `${hostId}/drain`)).status).toBe(200)
    await held.begun
    const removed = await operate('DELETE', `${hostId}?reason=broken`)
    held.release()
    expect(removed.status).toBe(204)
    await eventually(async () => (await rows()).every((row) => row.finished_at !== null && row.left_behind === null))
  }

  it.each(['leave', 'export', 'import'])('has failed if it was not committed at the %s', async (step) => {
    await removeDuring(step)
    expect(await rows()).toMatchObject([{ state: 'failed' }])
    expect((await ask('GET', `/${id}`)).body.status).toBe('failed')
    expect((await ask('POST', `/${id}/exec`, { cmd: 'true' })).status).toBeGreaterThanOrEqual(400)
    expect(first.state.sandboxes.has(id)).toBe(false)
    expect((await ask('DELETE', `/${id}`)).status).toBe(204)
  })

  it.each(['stay', 'gone'])('is at its new host if it was committed before the %s', async (step) => {
    await removeDuring(step)
    expect(await rows()).toMatchObject([{ state: 'done' }])
    expect(first.state.sandboxes.get(id)?.move).toBeUndefined()
    await eventually(async () => (await ask('GET', `/${id}`)).body.status === 'running')
    expect((await ask('POST', `/${id}/exec`, { cmd: 'true' })).status).toBe(200)
  })
})
