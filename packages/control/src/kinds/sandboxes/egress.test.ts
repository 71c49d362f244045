import type { CreateOnAgentBody } from '@offshoot/contract/agent-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

describe('egress of a sandbox', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  /** The latest create that the agent received. */
  let asked: CreateOnAgentBody | undefined

  beforeAll(async () => {
    agent = await FakeAgent.start()
    agent.onCreate = async (_id, body) => void (asked = body)
    harness = await Harness.start()
    control = await harness.control([agent])
    tenant = await harness.tenant(control, 'tenant')
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const ask = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const create = async (body: object) => (await ask('POST', '/v1/sandboxes', { template: 'base', ...body })).body

  it.each([
    [{}, 'internet'],
    [{ network: null }, 'internet'],
    [{ network: {} }, 'internet'],
    [{ network: { egress: null } }, 'internet'],
    [{ network: { egress: 'internet', later: true } }, 'internet'],
    [{ network: { egress: 'none' } }, 'none'],
  ])('of %j is %s', async (body, egress) => {
    const created = await create(body)
    expect(created.network).toEqual({ egress })
    expect(asked).toMatchObject({ id: created.id, egress })
    expect((await ask('GET', `/v1/sandboxes/${created.id}`)).body.network).toEqual({ egress })
  })

  it('is that of the parent for every child', async () => {
    const { id } = await create({ network: { egress: 'none' } })
    const child = (await ask('POST', `/v1/sandboxes/${id}/fork`, { network: { egress: 'internet' } })).body
    expect(child.network).toEqual({ egress: 'none' })
    const { children } = (await ask('POST', `/v1/sandboxes/${child.id}/fork-tree`, { count: 2 })).body
    expect(children).toMatchObject([{ network: { egress: 'none' } }, { network: { egress: 'none' } }])
    const fromFork = await create({ from_snapshot: child.snapshot_id })
    expect(fromFork.network).toEqual({ egress: 'none' })
  })

  it('is that of a snapshot, unless another is asked for', async () => {
    const { id } = await create({ network: { egress: 'none' } })
    const taken = (await ask('POST', `/v1/sandboxes/${id}/snapshots`)).body
    expect((await create({ from_snapshot: taken.id })).network).toEqual({ egress: 'none' })
    expect(asked).toMatchObject({ snapshot_id: taken.id, egress: 'none' })
    const opened = await create({ from_snapshot: taken.id, network: { egress: 'internet' } })
    expect(opened.network).toEqual({ egress: 'internet' })
    expect(asked).toMatchObject({ egress: 'internet' })
  })
})
