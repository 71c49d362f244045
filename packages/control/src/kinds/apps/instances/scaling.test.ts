/** @module-tag long */
import { randomUUID } from 'node:crypto'
import { EDGE_KEY_ID } from '@offshoot/contract/agent-credential'
import { PORT_STREAM_PROTOCOL } from '@offshoot/contract/port-stream'
import { EDGE_APPS_PATH, EDGE_LOAD_PATH } from '@offshoot/contract/edge-app'
import type { AppId, WorkspaceId } from '@offshoot/contract/ids'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { edgeApps } from '../edge-app-statements.ts'
import { makeLive } from '../deploying/make-live.ts'
import type { DeploymentRow } from '../model/deployment-row.ts'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl, type Tenant } from '../../../test/harness.ts'

const SECRET = Buffer.alloc(32, 5)

describe('instances of an app', () => {
  let harness: Harness
  let agent: FakeAgent
  let control: RunningControl
  let tenant: Tenant
  let token: string
  /** The status that instances answer to `GET /`. */
  let answer: (sandboxId: string) => number
  let app: { readonly id: string; readonly sandboxId: string; readonly deploymentId: string }
  let apps = 0

  beforeAll(async () => {
    agent = await FakeAgent.start()
    agent.onUpgrade = ({ url = '' }, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${PORT_STREAM_PROTOCOL}\r\n\r\n`,
      )
      const [, sandboxId = ''] = /sandboxes\/([^/]+)\/ports/.exec(url) ?? []
      socket.once('data', () => socket.end(`HTTP/1.1 ${answer(sandboxId)} Said\r\ncontent-length: 0\r\n\r\n`))
    }
    harness = await Harness.start()
    control = await harness.control([agent], { edge_secret: SECRET.toString('base64') })
    const credential = new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid: EDGE_KEY_ID }).setIssuedAt()
    token = await credential.setExpirationTime('1h').sign(SECRET)
  })

  beforeEach(async () => {
    answer = () => 200
    agent.onAction = async () => undefined
    apps += 1
    tenant = await harness.tenant(control, `apps-${apps}`)
    app = await liveApp({ max_instances: 3 })
  })

  afterAll(async () => {
    await harness.stop()
    await agent.kill()
  })

  const as = (method: string, path: string, body?: unknown) =>
    call(control.url, method, path, { token: tenant.key, ...(body !== undefined && { body }) })
  const query = async (text: string, ...values: unknown[]) => (await harness.pool.query(text, values)).rows
  const tell = (needed: unknown, id = app.id, bearer = token) =>
    call(control.url, 'POST', EDGE_LOAD_PATH, {
      token: bearer,
      headers: { 'content-type': 'application/json' },
      body: { apps: [{ id, needed }] },
    })
  const told = (id: string, bearer = token) => call(control.url, 'GET', `${EDGE_APPS_PATH}/${id}`, { token: bearer })
  const serving = async () => (await edgeApps(harness.pool, [app.id]))[0]?.sandbox_ids ?? []
  const untilServedBy = (count: number) =>
    eventually(async () => {
      const ids = await serving()
      return ids.length === count ? ids : null
    })
  const untilGone = (id: string | undefined) =>
    eventually(async () => (await as('GET', `/v1/sandboxes/${id}`)).status === 404)
  const sandboxes = async () => ((await as('GET', '/v1/sandboxes')).body as unknown[]).length

  /** Puts an app into the state after a deployment. */
  async function liveApp(settings: object) {
    const { id } = (await as('POST', '/v1/apps', { name: 'app', git_url: 'https://x.example/y.git', ...settings })).body
    const version = await liveVersion(id)
    await query('update apps set active_deployment_id = $2 where id = $1', id, version.deploymentId)
    return { id: id as string, ...version }
  }

  async function liveVersion(appId: string, status = 'live') {
    const deploymentId = randomUUID()
    const { id: sandboxId } = (await as('POST', '/v1/sandboxes', { template: 'base', persistent: true })).body
    await query(
      `insert into app_deployments (id, app_id, status, git_ref, origin_id, sandbox_id, port, was_live, finished_at, creator)
       values ($1, $2, $4, 'main', $1, $3, 3000, true, now(), $5)`,
      deploymentId,
      appId,
      sandboxId,
      status,
      control.control.lock.number,
    )
    await query(`update sandboxes set managed_by = 'app', managed_id = $2 where id = $1`, sandboxId, appId)
    return { sandboxId: sandboxId as string, deploymentId }
  }

  it('are made by forking the first, as many as are needed and as the app may have', async () => {
    expect((await tell(2)).status).toBe(204)
    const two = await untilServedBy(2)
    expect(two[0]).toBe(app.sandboxId)
    expect((await as('GET', `/v1/sandboxes/${two[1]}`)).body).toMatchObject({
      managed_by: 'app',
      parent_id: null,
      persistent: true,
      metadata: { app_id: app.id, deployment_id: app.deploymentId },
    })
    expect((await as('DELETE', `/v1/sandboxes/${two[1]}`)).status).toBe(409)
    await Promise.all(Array.from({ length: 10 }, () => tell(9)))
    await untilServedBy(3)
    await Promise.all([tell(9), tell(9)])
    expect(await sandboxes()).toBe(3)
    expect((await as('DELETE', `/v1/apps/${app.id}`)).status).toBe(204)
    expect(await sandboxes()).toBe(0)
  })

  it('are refused without an edge’s credential, for an unknown app, and for a malformed id', async () => {
    expect((await tell(2, app.id, tenant.key)).status).toBe(404)
    expect((await tell(2, randomUUID())).status).toBe(204)
    for (const needed of [0, 1.5, '2', null, 1e9]) expect((await tell(needed)).status).toBe(400)
    expect((await tell(2, 'x')).status).toBe(400)
    expect(await serving()).toEqual([app.sandboxId])
  })

  it('are listed only for edges', async () => {
    expect(await told(app.id)).toMatchObject({
      status: 200,
      body: { id: app.id, state: 'live', sandbox_ids: [app.sandboxId] },
    })
    expect((await told(app.id, tenant.key)).status).toBe(404)
    for (const id of [randomUUID(), 'x']) expect((await told(id)).status).toBe(404)
  })

  it('that never answer get no requests, and are deleted', async () => {
    answer = () => 500
    await tell(2)
    const [{ id }] = await eventually(async () => {
      const rows = await query('select id from app_instances where app_id = $1', app.id)
      return rows.length > 0 ? (rows as [{ id: string }]) : null
    })
    await untilGone(id)
    expect(await serving()).toEqual([app.sandboxId])
  }, 30_000)

  it('that cannot be made leave nothing', async () => {
    agent.onAction = async (action) => (action === 'fork' ? { status: 507, body: { error: 'no memory' } } : undefined)
    await tell(2)
    await eventually(async () => agent.requests.some(({ path }) => path === `/v1/sandboxes/${app.sandboxId}/fork`))
    await eventually(async () => (await query('select from app_instances where app_id = $1', app.id)).length === 0)
    expect(await sandboxes()).toBe(1)
  })

  it('are deleted after a minute without need, and when max_instances is lowered', async () => {
    await tell(3)
    const [, second, third] = await untilServedBy(3)
    await query(`update app_instances set needed_at = now() - interval '61 seconds' where id = $1`, second)
    await untilServedBy(2)
    await untilGone(second)
    await as('PATCH', `/v1/apps/${app.id}`, { max_instances: 1 })
    expect(await untilServedBy(1)).toEqual([app.sandboxId])
    await untilGone(third)
  })

  it('stay while they are needed', async () => {
    await tell(2)
    const [, second] = await untilServedBy(2)
    await query(`update app_instances set needed_at = now() - interval '50 seconds' where id = $1`, second)
    // An edge repeats its report for as long as the load lasts.
    await eventually(async () => {
      await tell(2)
      const noted = `select from app_instances where id = $1 and needed_at > now() - interval '9 seconds'`
      return (await query(noted, second)).length
    })
    expect(await serving()).toEqual([app.sandboxId, second])
  })

  it('that answer failures, or whose VM has died, are led to no more', async () => {
    await tell(3)
    const [, second, third] = await untilServedBy(3)
    agent.log('vm.died', second ?? '')
    await untilServedBy(2)
    answer = (id) => (id === third ? 503 : 200)
    // The instance is busy with a request.
    const busy = { persistent: true, idle_timeout_seconds: 60, idle_seconds: 0 }
    agent.onAction = async (action, id) =>
      action === 'lifecycle' && id === third ? { status: 200, body: busy } : undefined
    expect(await untilServedBy(1)).toEqual([app.sandboxId])
    expect(await query('select status from app_instances where id = $1', third)).toEqual([{ status: 'draining' }])
    agent.onAction = async () => undefined
    await untilGone(third)
  }, 40_000)

  it(
    'are all checked, also beside more than a page of instances on an absent host',
    { tags: ['long'], timeout: 60_000 },
    async () => {
      await query('delete from app_instances where creator = 0')
      await query(`delete from sandboxes where id < '00000000-0000-4000-9000-000000000000'`)
      await tell(2)
      const [, second = ''] = await untilServedBy(2)
      const away = randomUUID()
      await query(`insert into agents (id, url, info) values ($1, 'http://127.0.0.1:9', '{}')`, away)
      await query('update apps set max_instances = 1000 where id = $1', app.id)
      // More than one page of instances that come before the failing one, all on an unreachable host.
      for (let n = 0; n < 230; n++) {
        const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
        // One statement inserts both rows, because jobs remove instances without a sandbox and sandboxes without an
        // instance.
        await query(
          `with made as (
           insert into sandboxes
           select (jsonb_populate_record(s, jsonb_build_object('id', $2::text, 'agent_id', $3::text))).* from sandboxes s
           where id = $1 returning id
         )
         insert into app_instances (id, app_id, deployment_id, creator, status, created_at, needed_at)
         select id, $4, $5, 0, 'serving', now() - interval '1 day', now() + interval '1 day' from made`,
          second,
          id,
          away,
          app.id,
          app.deploymentId,
        )
      }
      answer = (id) => (id === second ? 503 : 200)
      await eventually(async () => {
        const [row] = await query('select status from app_instances where id = $1', second)
        return row?.status !== 'serving'
      })
      const rows = await query(`select count(*)::int as n from app_instances where creator = 0 and status = 'serving'`)
      expect(rows).toEqual([{ n: 230 }])
      await query('delete from app_instances where creator = 0')
      await query('delete from sandboxes where agent_id = $1', away)
    },
  )

  it('end when they are not needed, also beside more than a page of ending ones on an absent host', async () => {
    await tell(2)
    const [, second = ''] = await untilServedBy(2)
    const away = randomUUID()
    await query(`insert into agents (id, url, info) values ($1, 'http://127.0.0.1:9', '{}')`, away)
    await query(
      `with made as (
         insert into sandboxes
         select (jsonb_populate_record(s, jsonb_build_object('agent_id', $2::text,
           'id', '00000000-0000-4000-8000-' || lpad(n::text, 12, '0')))).* from sandboxes s, generate_series(1, 120) n
         where s.id = $1 returning id
       )
       insert into app_instances (id, app_id, deployment_id, creator, status, drain_until)
       select id, $3, $4, 0, 'draining', now() + interval '1 hour' from made`,
      second,
      away,
      app.id,
      app.deploymentId,
    )
    await query(
      `update app_instances set status = 'draining', drain_until = now() + interval '2 hours' where id = $1`,
      second,
    )
    await untilGone(second)
    expect(await query('select count(*)::int as n from app_instances where creator = 0')).toEqual([{ n: 120 }])
    await query('delete from app_instances where creator = 0')
    await query('delete from sandboxes where agent_id = $1', away)
  }, 60_000)

  it('end with their version', async () => {
    await tell(2)
    const [, second] = await untilServedBy(2)
    const next = await liveVersion(app.id, 'deploying')
    const row = { id: next.deploymentId, cause: null } as unknown as DeploymentRow
    const of = { id: app.id as AppId, workspace_id: tenant.workspaceId as WorkspaceId }
    await makeLive(control.control, of, row, control.control.lock.number)
    expect(await serving()).toEqual([next.sandboxId])
    await untilGone(second)
    await tell(2)
    await untilServedBy(2)
  })

  it('that a process had begun which is gone are forgotten', async () => {
    const lost = randomUUID()
    await query(
      `insert into app_instances (id, app_id, deployment_id, creator, status) values ($1, $2, $3, 999999, 'starting')`,
      lost,
      app.id,
      app.deploymentId,
    )
    await eventually(async () => (await query('select from app_instances where id = $1', lost)).length === 0)
  })
})
