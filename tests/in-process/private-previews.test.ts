/**
 * Private previews without a VM: control decides, the edge asks it, and the agent refuses whom the edge has not admitted.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { call } from '@offshoot/control/test/harness'
import { type Answered, EdgeUnderTest, until } from '@offshoot/edge/test/edge-under-test'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { cookieOf, EDGE_SECRET, PAGE, PreviewWorld, token } from '../setup/preview-world.ts'

describe('private previews', () => {
  let world: PreviewWorld
  let port: number
  /** A private sandbox of world.alice. */
  let id: string

  beforeAll(async () => {
    world = await PreviewWorld.start()
    port = world.parts.port
  })
  afterAll(() => world.stop())

  beforeEach(async () => {
    world.seen = undefined
    id = await world.created()
  })

  const as: PreviewWorld['as'] = (...asked) => world.as(...asked)
  const host = (sandbox = id, on = port) => `${on}-${sandbox}.localhost:8081`
  const visit = (path = '/', headers: Record<string, string> = {}, at = host()) => world.visit(at, path, headers)
  const link = async (body = {}, on: number | string = port) =>
    (await as('POST', `/v1/sandboxes/${id}/ports/${on}/links`, body)).body
  const openedBy = async (made: { url: string }) =>
    cookieOf(await visit(made.url.replace(/^https?:\/\/[^/]+/, ''), PAGE))

  it('are opened by nobody who knows the id alone', async () => {
    const { status, body, headers } = await visit('/', { accept: 'application/json' })
    expect([status, JSON.parse(body).error]).toEqual([401, 'this preview is private'])
    expect(headers['cache-control']).toBe('no-store')
    for (const method of ['POST', 'OPTIONS', 'HEAD']) {
      expect((await world.parts.edge.ask(port, '/', { method, headers: { host: host() } })).status).toBe(401)
    }
    const [, refused] = (await once(dial(), 'unexpected-response')) as [unknown, IncomingMessage]
    expect(refused.statusCode).toBe(401)
    refused.destroy()
    expect(world.seen).toBeUndefined()
  })

  it('are opened by a link, whose token is gone from the address and is not seen inside', async () => {
    const made = await link({ label: 'for a friend' })
    expect(made.url).toBe(`http://${host()}/?offshoot_token=${made.token}`)
    const opened = await visit(`/a?x=1&offshoot_token=${made.token}&y=2`, PAGE)
    expect([opened.status, opened.headers.location, opened.headers['referrer-policy']]).toEqual([
      302,
      '/a?x=1&y=2',
      'no-referrer',
    ])
    const [cookie = ''] = opened.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/^offshoot-preview=[\w.-]+; Path=\/; Max-Age=863\d\d; HttpOnly; SameSite=Lax$/)
    expect(world.seen).toBeUndefined()

    const mine = `own=1; ${cookieOf(opened)}`
    const inside = await visit('/a', { cookie: mine, referer: made.url, ...token(made.token) })
    expect([inside.status, inside.body, inside.headers['set-cookie']]).toEqual([200, 'inside', ['app=1']])
    expect(world.seen?.headers).toMatchObject({ cookie: 'own=1', referer: `http://${host()}/` })
    expect(JSON.stringify(world.seen?.rawHeaders)).not.toMatch(/ofl_|offshoot-preview/)
    expect((await visit(`/b?offshoot_token=${made.token}`, { accept: '*/*' })).status).toBe(200)
    expect(world.seen?.url).toBe('/b')
  })

  it('stay closed for a link of another port, another sandbox or another workspace, and for a changed one', async () => {
    const { token: ours } = await link()
    const first = id
    expect((await visit('/', token(ours))).status).toBe(200)
    expect((await visit('/', token(ours), host(id, 1))).status).toBe(401)
    id = await world.created()
    for (const given of [
      ours,
      `${ours}x`,
      ours.replace(/.$/, (end: string) => (end === 'A' ? 'B' : 'A')),
      'ofl_',
      '\u00ff',
    ]) {
      expect((await visit('/', token(given))).status).toBe(401)
    }
    const opened = await openedBy(await link())
    expect((await visit('/', { cookie: opened })).status).toBe(200)
    // The pass of one host is none of another's, whatever the request says.
    expect((await visit('/', { cookie: opened }, host(first))).status).toBe(401)
    expect((await visit('/', { cookie: opened }, host().replace('8081', '9999'))).status).toBe(401)
    expect((await visit('/', { cookie: `${opened.slice(0, -3)}abc` })).status).toBe(401)
    const bob = await world.parts.harness.tenant(world.parts.control, 'bob')
    expect((await visit('/', token(bob.key))).status).toBe(401)
  })

  const key = async (scopes?: string[]) => (await as('POST', '/v1/me/tokens', { name: 'k', scopes })).body.token

  it('take a key of the workspace that may read them', async () => {
    expect((await visit('/', token(await key()))).status).toBe(200)
    expect((await visit('/', token(await key(['sandboxes:read'])))).status).toBe(200)
    expect((await visit('/', token(await key(['apps:read'])))).status).toBe(401)
    // A page may need Authorization itself, so it is none of the edge's.
    expect((await visit('/', { authorization: `Bearer ${await key()}` })).status).toBe(401)
  })

  const dial = (headers = {}) =>
    new WebSocket(`ws://127.0.0.1:${world.parts.edge.port}/`, { headers: { host: host(), ...headers } }).on(
      'error',
      () => undefined,
    )

  it('close again, open connections too, when the link is revoked', async () => {
    const made = await link()
    const other = await link()
    const cookie = await openedBy(made)
    const [socket, kept] = [dial({ cookie }), dial(token(other.token))]
    const closed = once(socket, 'close') as Promise<[number, Buffer]>
    await Promise.all([once(socket, 'message'), once(kept, 'message')])
    const stream = await world.parts.edge.open(port, '/stream', { headers: { host: host(), ...token(made.token) } })
    const broken = new Promise((resolve) => stream.once('error', resolve).once('aborted', resolve).resume())
    const path = `/v1/sandboxes/${id}/ports/${port}/links`
    expect((await as('GET', path)).body.map((row: { id: string }) => row.id)).toEqual([other.id, made.id])
    expect((await as('DELETE', `${path}/${made.id}`)).status).toBe(204)
    expect((await as('DELETE', `${path}/${made.id}`)).status).toBe(404)
    // A request that is open when the check comes ends without an answer.
    const isRefused = async () => (await visit('/', { cookie }).catch(() => null))?.status === 401
    await until('the link to be refused', isRefused)
    expect(await closed).toEqual([1008, Buffer.from('access to this preview has ended')])
    await broken
    expect(kept.readyState).toBe(WebSocket.OPEN)
    kept.terminate()
  })

  it('close again when the link expires', async () => {
    const made = await link({ expires_in_seconds: 2 })
    const cookie = await openedBy(made)
    expect((await visit('/', { cookie })).status).toBe(200)
    await until('its end', async () => (await visit('/', { cookie })).status === 401)
    expect((await visit('/', token(made.token))).status).toBe(401)
    expect((await as('GET', `/v1/sandboxes/${id}/ports/${port}/links`)).body).toEqual([])
  })

  /** Follows redirects between the two hosts as a browser does, with its cookies by host. */
  async function browse(path: string, { session = world.alice.cookie, jar = new Map<string, string>() } = {}) {
    let answer = await visit(path, { ...PAGE, cookie: jar.get(host()) ?? '' })
    const way: string[] = []
    for (let hop = 0; hop < 6 && answer.status === 302; hop += 1) {
      const set = cookieOf(answer)
      if (set !== '') jar.set(host(), [jar.get(host()), set].filter(Boolean).join('; '))
      const to = new URL(answer.headers.location ?? '', `http://${host()}${path}`)
      way.push(to.href)
      if (to.host === host()) {
        answer = await visit(`${to.pathname}${to.search}`, { ...PAGE, cookie: jar.get(host()) ?? '' })
        continue
      }
      const asked = await fetch(to, { redirect: 'manual', headers: { ...PAGE, cookie: session } })
      const headers = Object.fromEntries(asked.headers) as Answered['headers']
      answer = { ...answer, status: asked.status, headers, body: await asked.text() }
    }
    return { ...answer, way, jar }
  }

  it('are opened by the session of a member, over control and back, until the member signs out', async () => {
    const name = `eve-${randomUUID()}`
    const eve = await world.signedUp(name)
    const { rows } = await world.parts.harness.pool.query('select id from "user" where email = $1', [
      `${name}@example.com`,
    ])
    await world.parts.harness.pool.query(
      `insert into member ("organizationId", "userId", role, "createdAt") values ($1, $2, 'member', now())`,
      [world.alice.workspaceId, rows[0].id],
    )
    const { status, body, way, jar } = await browse('/page?a=1', { session: eve.cookie })
    expect([status, body]).toEqual([200, 'inside'])
    expect(world.seen?.url).toBe('/page?a=1')
    expect(way).toHaveLength(3)
    expect(way[1]).toMatch(/\/\.offshoot\/preview\?code=/)
    const cookie = jar.get(host()) ?? ''
    expect((await visit('/', { cookie })).status).toBe(200)
    // The code was for this once.
    const again = await visit(new URL(way[1] ?? '').pathname + new URL(way[1] ?? '').search, { ...PAGE, cookie })
    expect(again.status).toBe(401)
    await fetch(`${world.parts.control.url}/api/auth/sign-out`, {
      method: 'POST',
      headers: { cookie: eve.cookie, origin: world.parts.control.url },
    })
    await until('the session to end', async () => (await visit('/', { cookie })).status === 401)
  })

  it('are not opened by no session, by a stranger’s, or by somebody else’s code', async () => {
    const unknown = await browse('/', { session: '' })
    expect([unknown.status, unknown.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    const mallory = await world.signedUp(`mallory-${randomUUID()}`)
    const refused = await browse('/', { session: mallory.cookie })
    expect(refused.status).toBe(403)
    expect(refused.body).toContain(`Request id: <code>${String(refused.headers['x-request-id'])}</code>`)
    // Alice's code in another browser, which has a state of its own.
    const first = await visit('/', PAGE)
    const asked = await fetch(first.headers.location ?? '', {
      redirect: 'manual',
      headers: { cookie: world.alice.cookie },
    })
    const back = new URL(asked.headers.get('location') ?? '')
    const other = cookieOf(await visit('/', PAGE))
    expect(other).not.toBe(cookieOf(first))
    for (const cookie of ['', other]) {
      expect((await visit(`${back.pathname}${back.search}`, { ...PAGE, cookie })).status).toBe(401)
    }
    expect((await visit(`${back.pathname}${back.search}`, { ...PAGE, cookie: cookieOf(first) })).status).toBe(302)
    expect(world.seen).toBeUndefined()
  })

  it.each([
    ['no address', ''],
    ['another server', 'http://evil.example.com/'],
    ['another port of the name', `http://3000-${randomUUID()}.localhost:9999/`],
    ['a name that only begins so', `http://3000-${randomUUID()}.localhost.evil.example:8081/`],
    ['a user in the address', `http://x@3000-${randomUUID()}.localhost:8081/`],
    ['another scheme', `javascript:alert(1)//3000-${randomUUID()}.localhost:8081/`],
    ['a domain that nobody has proved', 'http://www.example.com:8081/'],
  ])('lead to no other place: %s', async (_what, to) => {
    const query = new URLSearchParams({ to, state: 's'.repeat(43) })
    const answer = await call(world.parts.control.url, 'GET', `/previews/enter?${query.toString()}`, {
      headers: { cookie: world.alice.cookie },
    })
    expect([answer.status, answer.body.error]).toEqual([400, 'this is no address of a preview'])
  })

  it('come back to their own host, whatever the path looks like', async () => {
    const { way } = await browse('//evil.example.com/x')
    expect(way.map((each) => new URL(each).host)).toEqual([new URL(world.parts.control.url).host, host(), host()])
    const { token: ours } = await link()
    const opened = await visit(`//evil.example.com/?offshoot_token=${ours}`, PAGE)
    expect(opened.headers.location).toBe('/.//evil.example.com/')
  })

  it('become private, and public again, while visitors are connected', async () => {
    id = await world.created({})
    const { token: ours } = await link()
    const socket = dial()
    await once(socket, 'message')
    expect((await visit(`/?offshoot_token=${ours}`, PAGE)).status).toBe(200)
    expect(world.seen?.url).toBe('/')
    const ended = once(socket, 'close')
    expect((await as('PATCH', `/v1/sandboxes/${id}`, { visibility: 'private' })).body.visibility).toBe('private')
    // The edge has not heard of it yet, but the agent refuses.
    world.parts.edge.agent.setVisibility(id, 'private', false)
    await ended
    expect((await visit()).status).toBe(503)
    expect((await visit()).status).toBe(401)
    expect((await visit('/', token(ours))).status).toBe(200)
    expect((await as('PATCH', `/v1/sandboxes/${id}`, { visibility: 'public' })).status).toBe(200)
    world.parts.edge.agent.setVisibility(id, 'public')
    await until('everybody to be admitted', async () => (await visit()).status === 200)
  })

  it('admit for a short while those whom control has admitted before, when it is away', async () => {
    const { token: ours } = await link()
    const { token: unused } = await link()
    const away = await world.parts.harness.control([world.parts.agent], { edge_secret: EDGE_SECRET })
    const other = await EdgeUnderTest.start({}, { control: { url: away.url, secret: EDGE_SECRET } })
    other.agent.add(id, 'running', 'private')
    const ask = async (given: string) =>
      (await other.ask(port, '/', { headers: { host: host(), ...token(given) } })).status
    expect(await ask(ours)).toBe(200)
    await away.stop()
    expect([await ask(ours), await ask(unused)]).toEqual([200, 503])
    await other.stop()
  })

  it('are inherited by forks and by what is made from a snapshot', async () => {
    const { body: child } = await as('POST', `/v1/sandboxes/${id}/fork`)
    const { body: tree } = await as('POST', `/v1/sandboxes/${id}/fork-tree`, { count: 2 })
    expect([child, ...tree.children].map(({ visibility }) => visibility)).toEqual(['private', 'private', 'private'])
    const { body: snapshot } = await as('POST', `/v1/sandboxes/${id}/snapshots`)
    for (const [asked, visibility] of [
      [undefined, 'private'],
      ['public', 'public'],
    ]) {
      const made = await as('POST', '/v1/sandboxes', {
        template: 'base',
        from_snapshot: snapshot.id,
        visibility: asked,
      })
      expect([made.status, made.body.visibility]).toEqual([201, visibility])
    }
    expect(world.parts.agent.state.sandboxes.get(child.id)?.visibility).toBe('private')
    expect((await as('GET', `/v1/sandboxes/${child.id}`)).body.visibility).toBe('private')
  })
})
