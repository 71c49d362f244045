import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FakeAgent } from '../../test/fake-agent.ts'
import { call, Harness, type RunningControl, type Tenant } from '../../test/harness.ts'
import { settleTrees } from '../apps/dependency-cache/settle-trees.ts'
import { settleBuilds } from './settle-builds.ts'

/** So long ago that the build counts as abandoned. */
const ABANDONED = `now() - interval '1 hour'`

describe('an agent that does not answer', () => {
  let harness: Harness
  let agents: FakeAgent[]
  let control: RunningControl
  let alice: Tenant

  beforeAll(async () => {
    agents = [await FakeAgent.start(), await FakeAgent.start()]
    harness = await Harness.start()
    control = await harness.control(agents)
    alice = await harness.tenant(control, 'alice')
  })
  afterAll(async () => {
    await harness.stop()
    for (const agent of agents) await agent.kill().catch(() => undefined)
  })

  const makeApp = async (name: string): Promise<string> => {
    const body = { name, git_url: 'https://git.example.com/x' }
    return (await call(control.url, 'POST', '/v1/apps', { token: alice.key, body })).body.id
  }
  const agentIds = () => agents.map(({ state }) => state.agentId)

  it('holds up neither the builds nor the installed trees of the others', async () => {
    await agents[0]?.kill()
    const { database, fleet, log } = control.control
    const builds = [randomUUID(), randomUUID()]
    const trees = [randomUUID(), randomUUID()]
    for (const [at, agentId] of agentIds().entries()) {
      await harness.pool.query(
        `insert into template_builds (id, workspace_id, agent_id, creator, name, size_mb, bytes, status, stage, created_at)
         values ($1, $2, $3, 0, $4, 1, 1, 'running', 'unpacking', ${ABANDONED})`,
        [builds[at], alice.workspaceId, agentId, `build-${at}`],
      )
      await harness.pool.query(
        `insert into app_trees (id, app_id, workspace_id, agent_id, key, status, creator, created_at)
         values ($1, $2, $3, $4, 'k', 'making', 0, ${ABANDONED})`,
        [trees[at], await makeApp(`app-${at}`), alice.workspaceId, agentId],
      )
    }
    await settleBuilds({ database, fleet }, log)
    await settleTrees({ database, fleet }, log)
    const { rows: open } = await harness.pool.query('select id from template_builds where ended_at is null')
    expect(open).toEqual([{ id: builds[0] }])
    const { rows: kept } = await harness.pool.query('select id from app_trees where app_id is not null')
    expect(kept).toEqual([{ id: trees[0] }])
  })
})
