/** Private apps without a VM, at each of their addresses. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get as httpsGet } from 'node:https'
import { eventually } from '@offshoot/control/test/harness'
import { until } from '@offshoot/edge/test/edge-under-test'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PAGE, PreviewWorld, token } from '../setup/preview-world.ts'

describe('private apps', () => {
  let world: PreviewWorld
  let app: string
  let sandbox: string

  beforeAll(async () => {
    world = await PreviewWorld.start()
  })
  afterAll(() => world.stop())

  const as: PreviewWorld['as'] = (...asked) => world.as(...asked)
  const host = (of: string) => `${world.parts.port}-${of}.localhost:8081`
  const at = () => `${app}.localhost:8081`

  beforeEach(async () => {
    const body = { name: randomUUID(), git_url: 'https://git.example.com/x.git', visibility: 'private' }
    const made = await as('POST', '/v1/apps', body)
    expect(made.body.visibility).toBe('private')
    app = made.body.id
    sandbox = await world.created()
    const { pool } = world.parts.harness
    await pool.query(`update sandboxes set managed_by = 'app', managed_id = $2 where id = $1`, [sandbox, app])
    const deployment = randomUUID()
    await pool.query(
      `insert into app_deployments (id, app_id, origin_id, status, port, git_ref, sandbox_id)
       values ($1, $2, $1, 'live', $3, 'main', $4)`,
      [deployment, app, world.parts.port, sandbox],
    )
    await pool.query('update apps set active_deployment_id = $2 where id = $1', [app, deployment])
    await until('the edge to know', async () => (await world.visit(at(), '/', {})).status === 401)
  })

  it('open by a link at each of their addresses, and their sandbox does not open by its own', async () => {
    const { body: made } = await as('POST', `/v1/apps/${app}/links`, { label: 'x' })
    expect(made.url).toBe(`http://${at()}/?offshoot_token=${made.token}`)
    await world.parts.harness.pool.query(
      `insert into app_domains (app_id, domain, token, verified_at) values ($1, $2, 'x', now())`,
      [app, `${app}.example.com`],
    )
    const domain = `${app}.example.com`
    await until('the domain', async () => (await world.visit(domain, '/', token(made.token))).status === 200)
    expect((await world.visit(domain, '/', {})).status).toBe(401)
    expect((await world.visit(at(), '/', token(made.token))).status).toBe(200)
    expect((await world.visit(host(sandbox), '/', token(made.token))).status).toBe(401)
    expect((await as('GET', `/v1/apps/${app}/links`)).body).toMatchObject([{ id: made.id, label: 'x', port: null }])
    expect((await as('DELETE', `/v1/apps/${app}/links/${made.id}`)).status).toBe(204)
    await until('the link to be refused', async () => (await world.visit(at(), '/', token(made.token))).status === 401)
  })

  it('have a cookie with TLS that no other host can set', async () => {
    const { body: made } = await as('POST', `/v1/apps/${app}/links`)
    const asked = httpsGet({
      host: '127.0.0.1',
      port: world.parts.edge.port,
      path: `/?offshoot_token=${made.token}`,
      headers: { host: at(), ...PAGE },
      rejectUnauthorized: false,
      agent: false,
    })
    const [opened] = (await once(asked, 'response')) as [IncomingMessage]
    opened.destroy()
    const [cookie = ''] = opened.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/^__Host-offshoot-preview=[\w.-]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax; Secure$/)
    // It is for the origin with TLS only.
    const pass = cookie.split(';')[0]?.replace('__Host-', '') ?? ''
    expect((await world.visit(at(), '/', { cookie: pass })).status).toBe(401)
  })

  it('are public, or private, with all of their sandboxes', async () => {
    const refused = await as('PATCH', `/v1/sandboxes/${sandbox}`, { visibility: 'public' })
    expect([refused.status, refused.body.error]).toEqual([409, 'conflict'])
    expect((await as('PATCH', `/v1/apps/${app}`, { visibility: 'public' })).body.visibility).toBe('public')
    expect((await as('GET', `/v1/sandboxes/${sandbox}`)).body.visibility).toBe('public')
    expect(world.parts.agent.state.sandboxes.get(sandbox)?.visibility).toBe('public')
    world.parts.edge.agent.setVisibility(sandbox, 'public')
    await until('everybody to be admitted', async () => (await world.visit(at(), '/', {})).status === 200)
    await as('PATCH', `/v1/apps/${app}`, { visibility: 'private' })
    expect(world.parts.agent.state.sandboxes.get(sandbox)?.visibility).toBe('private')
    // The agent of this edge knows nothing: the edge has it from control.
    await until('visitors to be refused', async () => (await world.visit(at(), '/', {})).status === 401)
  })

  it('do not say that nothing is deployed to those who are not admitted', async () => {
    const { body: made } = await as('POST', `/v1/apps/${app}/links`)
    await world.parts.harness.pool.query('update apps set active_deployment_id = null where id = $1', [app])
    await until('no version', async () => (await world.visit(at(), '/', token(made.token))).status === 404)
    expect((await world.visit(at(), '/', {})).status).toBe(401)
  })

  it('find those of their sandboxes that were made meanwhile', async () => {
    await world.parts.harness.pool.query(`update sandboxes set visibility = 'public' where id = $1`, [sandbox])
    world.parts.agent.state.sandboxes.set(sandbox, {
      ...world.parts.agent.addSandbox(sandbox, world.alice.workspaceId),
      visibility: 'public',
    })
    await world.parts.harness.pool.query(`select wake_job('settle-visibility')`)
    await eventually(() => world.parts.agent.state.sandboxes.get(sandbox)?.visibility === 'private')
  })
})
