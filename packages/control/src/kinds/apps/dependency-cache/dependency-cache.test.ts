/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { GitCredentials } from '../model/git-credentials.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { FakeAppGuest } from '../../../test/fake-app-guest.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const INSTALL = 'npm ci --no-audit --no-fund --no-update-notifier'

describe('what a build has installed', () => {
  let harness: Harness
  let agent: FakeAgent
  let guest: FakeAppGuest
  let control: RunningControl
  let alice: Tenant
  let app: string
  /** The template of each sandbox that was requested. */
  const templates = new Map<string, string>()
  let apps = 0

  beforeAll(async () => {
    agent = await FakeAgent.start({ templates: ['app', 'base'] })
    guest = new FakeAppGuest(agent)
    harness = await Harness.start()
    control = await harness.control([agent])
    alice = await harness.tenant(control, 'alice')
  })

  beforeEach(async () => {
    guest.lock = 'a'
    guest.codes.clear()
    agent.state.builds.refusal = undefined
    agent.onCreate = async (id, { template }) => {
      templates.set(id, template)
      return undefined
    }
    app = await newApp()
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const as = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: alice.key, ...(body !== undefined && { body }) })
  const query = async (text: string, ...values: unknown[]) => (await harness.pool.query(text, values)).rows
  const trees = (of = app) => query('select id, status from app_trees where app_id = $1', of)
  const onAgent = (id: string) => agent.state.builds.templates.has(id)

  async function requires(labels: Record<string, string>): Promise<void> {
    await query('update workspace_accounts set required_labels = $1 where workspace_id = $2', labels, alice.workspaceId)
    await control.control.fleet.refreshHosts()
  }

  async function newApp(): Promise<string> {
    apps += 1
    const body = { name: `app-${apps}`, git_url: 'https://git.example.com/x.git' }
    return (await as('POST', '/v1/apps', body)).body.id
  }

  async function deploy(
    of = app,
  ): Promise<{ status: string; sandbox_id: string; error: string | null; build_logs: string }> {
    const { body: row } = await as('POST', `/v1/apps/${of}/deploys`)
    return eventually(async () => {
      const { body } = await as('GET', `/v1/apps/${of}/deploys/${row.id}`)
      return ['live', 'failed'].includes(body.status) ? body : null
    })
  }

  /** The id of the app's tree, once it has been created. */
  async function madeTree(of = app): Promise<string> {
    const [tree] = await trees(of)
    agent.state.builds.finish(tree.id)
    await eventually(async () => (await trees(of))[0]?.status === 'ready')
    return tree.id
  }

  it('is taken from its disk alone, and is what the next build of the same lock file starts from', async () => {
    const first = await deploy()
    expect([first.status, first.error]).toEqual(['live', null])
    expect(templates.get(first.sandbox_id)).toBe('app')
    expect(guest.ranIn(first.sandbox_id)).toEqual([INSTALL, 'npm run build'])
    const tree = await madeTree()
    expect(agent.state.builds.ofSandboxes.get(tree)).toMatchObject({ id: tree, name: 'app', memory: false })

    const second = await deploy()
    expect([second.status, templates.get(second.sandbox_id)]).toEqual(['live', tree])
    expect(guest.ranIn(second.sandbox_id)).toEqual(['npm run build'])
    expect(guest.clones.at(-1)?.['SOURCE_IS_THERE']).toBe('1')
    expect(second.build_logs).toContain('==> install: as it was')
    expect((await trees()).map(({ id }) => id)).toEqual([tree])
    expect((await as('GET', `/v1/sandboxes/${second.sandbox_id}`)).body).toMatchObject({
      template: 'app',
      from_snapshot: null,
    })
    expect((await as('GET', '/v1/templates')).body.map(({ name }: { name: string }) => name)).toEqual(['app', 'base'])
    expect([(await as('GET', '/v1/snapshots')).body, (await as('GET', '/v1/templates/builds')).body]).toEqual([[], []])
    const { body: metrics } = await call(control.url, 'GET', '/metrics')
    expect(metrics).toContain('offshoot_app_trees{status="ready"} 1')
  })

  it('gives way to that of another lock file, and goes with its app', async () => {
    await deploy()
    const tree = await madeTree()
    guest.lock = 'b'
    const second = await deploy()
    expect([second.status, templates.get(second.sandbox_id)]).toEqual(['live', 'app'])
    expect(guest.ranIn(second.sandbox_id)).toEqual([INSTALL, 'npm run build'])
    expect(second.build_logs).toContain('its dependencies are others than before')
    const [other] = await trees()
    expect(other.id).not.toBe(tree)
    await eventually(() => !onAgent(tree))
    const next = await madeTree()
    // The unusable sandbox was removed.
    const { body: sandboxes } = await as('GET', '/v1/sandboxes')
    const own = sandboxes.filter(({ metadata }: { metadata: { app_id: string } }) => metadata.app_id === app)
    expect(own).toHaveLength(2)
    expect((await as('DELETE', `/v1/apps/${app}`)).status).toBe(204)
    await eventually(
      async () => !onAgent(next) && (await query('select from app_trees where id = $1', next)).length === 0,
    )
  })

  it('is not used on a host without a label that the workspace requires', async () => {
    await deploy()
    await madeTree()
    await requires({ disk: 'nvme' })
    const refused = await deploy()
    expect([refused.status, templates.has(refused.sandbox_id)]).toEqual(['failed', false])
    expect(await trees()).toEqual([])
    await requires({})
    const { status, sandbox_id: sandbox } = await deploy()
    expect([status, templates.get(sandbox)]).toEqual(['live', 'app'])
  })

  it('is used by no other app', async () => {
    await deploy()
    await madeTree()
    const other = await newApp()
    const { sandbox_id: sandbox } = await deploy(other)
    expect([templates.get(sandbox), guest.ranIn(sandbox)]).toEqual(['app', [INSTALL, 'npm run build']])
  })

  it.each<[string, (tree: string) => Promise<unknown>]>([
    [
      'is lost',
      async (tree) => {
        agent.onCreate = async (id, { template }) => {
          templates.set(id, template)
          return template === tree
            ? { status: 404, body: { error: 'not found', detail: 'unknown template' } }
            : undefined
        }
      },
    ],
    [
      'is too old',
      async (tree) => query(`update app_trees set created_at = now() - interval '8 days' where id = $1`, tree),
    ],
    ['was installed with other variables', async () => as('PATCH', `/v1/apps/${app}`, { env: { A: 'b' } })],
  ])('is installed anew where it %s', async (_what, lose) => {
    await deploy()
    const tree = await madeTree()
    await lose(tree)
    const { status, sandbox_id: sandbox } = await deploy()
    expect([status, templates.get(sandbox)]).toEqual(['live', 'app'])
    expect(guest.ranIn(sandbox)).toEqual([INSTALL, 'npm run build'])
    await eventually(async () => !onAgent(tree) && (await trees()).every(({ id }) => id !== tree))
  })

  it('is forgotten when a build on it fails', async () => {
    await deploy()
    const tree = await madeTree()
    guest.codes.set('npm run build', 3)
    expect((await deploy()).error).toMatch(/^build failed with code 3/)
    guest.codes.clear()
    const { sandbox_id: sandbox } = await deploy()
    expect(guest.ranIn(sandbox)).toEqual([INSTALL, 'npm run build'])
    await eventually(() => !onAgent(tree))
  })

  it.each([429, 507])('that its host does not take (%i) is no matter to the deploy', async (status) => {
    agent.state.builds.refusal = { status, body: { error: 'no' } }
    const { status: outcome, build_logs: log } = await deploy()
    expect([outcome, log.includes('could not be kept')]).toEqual(['live', true])
    expect(await trees()).toEqual([])
  })

  it('is not kept where installing has changed the commit, or has failed', async () => {
    guest.codes.set('git status', 3)
    expect((await deploy()).build_logs).toContain('installing has changed files of the commit')
    guest.codes.set(INSTALL, 1)
    expect((await deploy()).status).toBe('failed')
    expect(await trees()).toEqual([])
  })

  it('is neither kept nor used where the repository takes a credential', async () => {
    await deploy()
    await madeTree()
    const kept = agent.state.builds.builds.size
    const changeable = control.control as { gitCredentials: GitCredentials }
    const before = changeable.gitCredentials
    changeable.gitCredentials = { of: async () => 'user:password' }
    guest.lock = 'b'
    try {
      const { sandbox_id: sandbox } = await deploy()
      expect([templates.get(sandbox), guest.ranIn(sandbox)]).toEqual(['app', [INSTALL, 'npm run build']])
      expect(guest.clones.at(-1)).toMatchObject({ SOURCE_IS_THERE: '0', GIT_CONFIG_COUNT: '2' })
    } finally {
      changeable.gitCredentials = before
    }
    expect(agent.state.builds.builds.size).toBe(kept)
  })

  it('is removed if its creation fails, or if the creating process ends before it asked the agent', async () => {
    await deploy()
    const [failing] = await trees()
    agent.state.builds.finish(failing.id, 'booting: no')
    await eventually(async () => (await query('select from app_trees where id = $1', failing.id)).length === 0)
    const lost = randomUUID()
    await query(
      `insert into app_trees (id, app_id, workspace_id, agent_id, key, status, creator)
       values ($1, $2, $3, $4, 'k', 'making', 0)`,
      lost,
      app,
      alice.workspaceId,
      agent.state.agentId,
    )
    await eventually(async () => (await query('select from app_trees where id = $1', lost)).length === 0)
  })

  it('stays on its agent when that is compared with the rows', async () => {
    await deploy()
    const tree = await madeTree()
    const stray = randomUUID()
    await harness.recordRemoval(agent, stray)
    agent.state.builds.templates.set(stray, alice.workspaceId)
    agent.cutStreams()
    await eventually(() => !onAgent(stray))
    expect(onAgent(tree)).toBe(true)
  })
})
