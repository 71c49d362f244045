import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { addVolume } from '../../test/fake-volumes.ts'
import { eventually, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'

describe('volumes after a crash', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let tenants = 0

  beforeAll(async () => {
    agent = await FakeAgent.start()
    harness = await Harness.start()
    control = await harness.control([agent])
  })
  beforeEach(async () => {
    tenants += 1
    tenant = await harness.tenant(control, `tenant-${tenants}`)
  })
  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const rows = async (): Promise<{ id: string; name: string; status: string; size_mb: number }[]> =>
    (
      await harness.pool.query('select id, name, status, size_mb from volumes where workspace_id = $1', [
        tenant.workspaceId,
      ])
    ).rows
  /** Requests reconciliation repeatedly, because the log may not be followed yet. */
  const afterReconciliation = (condition: () => boolean | Promise<boolean>) =>
    eventually(async () => {
      control.control.fleet.reconcileSoon(agent.state.agentId)
      return condition()
    })
  const insert = async (status: string, creator = 0, id: string = randomUUID()): Promise<string> => {
    await harness.pool.query(
      `insert into volumes (id, workspace_id, agent_id, creator, kind, name, size_mb, status)
       values ($1::uuid, $2, $3, $4, 'volume', $1::text, 256, $5)`,
      [id, tenant.workspaceId, agent.state.agentId, creator, status],
    )
    return id
  }

  it('a row in the making becomes what the agent has, or goes', async () => {
    const made = randomUUID()
    // Before its row: control also reconciles by itself, and would remove the row of a volume that the agent has not.
    addVolume(agent.state, { id: made, name: made, size_mb: 256 }, tenant.workspaceId)
    const [lost, ready] = [await insert('creating'), await insert('ready'), await insert('creating', 0, made)]
    await afterReconciliation(async () => {
      const left = await rows()
      return left.length === 1 && left[0]?.status === 'ready'
    })
    expect(await rows()).toEqual([{ id: made, name: made, status: 'ready', size_mb: 256 }])
    expect([lost, ready]).not.toContain(made)
  })

  it('keeps the row of a volume whose record the agent cannot read', async () => {
    const [unreadable, lost] = [await insert('ready'), await insert('ready')]
    agent.state.unreadable.add(unreadable)
    await afterReconciliation(async () => !(await rows()).some(({ id }) => id === lost))
    expect((await rows()).map(({ id }) => id)).toEqual([unreadable])
    agent.state.unreadable.clear()
  })

  it('what a process is just making stays', async () => {
    const id = await insert('creating', control.control.lock.number)
    const marker = await insert('creating')
    await afterReconciliation(async () => !(await rows()).some((row) => row.id === marker))
    expect((await rows()).map((row) => row.id)).toEqual([id])
  })

  it('a size that the agent has changed is taken over', async () => {
    const id = randomUUID()
    addVolume(agent.state, { id, name: id, size_mb: 512 }, tenant.workspaceId)
    await insert('ready', 0, id)
    await afterReconciliation(async () => (await rows())[0]?.size_mb === 512)
    expect(await rows()).toMatchObject([{ id, size_mb: 512 }])
  })

  it('a volume whose row was removed is deleted only if it was never attached', async () => {
    const [fresh, used] = [randomUUID(), randomUUID()]
    for (const id of [fresh, used]) await harness.recordRemoval(agent, id)
    addVolume(agent.state, { id: used, name: 'used', size_mb: 256 }, tenant.workspaceId, { was_attached: true })
    addVolume(agent.state, { id: fresh, name: 'fresh', size_mb: 256 }, tenant.workspaceId)
    await afterReconciliation(() => !agent.state.volumes.has(fresh))
    expect(agent.state.volumes.has(used)).toBe(true)
    agent.state.volumes.delete(used)
  })
})
