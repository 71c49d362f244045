/** @module-tag long */
/** Private previews of a real guest: the agent refuses, a link and a session open, and a browser follows both. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Browser, hasBrowser } from './setup/browser.ts'
import type { Answer } from './setup/http.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { previewOf, visit } from './setup/preview.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import { until } from './setup/until.ts'

/** Answers with the request's headers. `/stream` never ends. */
const SERVER = `
const http = require('http')
const serve = (request, response) => {
  if (request.url === '/stream') return response.write('begun')
  response.setHeader('content-type', 'text/html')
  response.end('<pre id="seen">' + JSON.stringify({ url: request.url, headers: request.rawHeaders }) + '</pre>')
}
http.createServer(serve).listen(3000, '127.0.0.1')
http.createServer(serve).listen(3001, '127.0.0.1')
`

const token = (value: string) => ({ 'x-offshoot-preview-token': value })
const cookieOf = ({ headers }: Answer) => (headers['set-cookie'] ?? [])[0]?.split(';')[0] ?? ''

describe('a private preview', () => {
  let offshoot: Offshoot
  let id: string

  beforeAll(async () => {
    offshoot = await borrow()
    id = (await offshoot.create({ template: 'base' })).id
    await offshoot.request('PUT', `/v1/sandboxes/${id}/fs?path=/srv/server.js`, { body: SERVER })
    const body = { cmd: 'node /srv/server.js', background: true }
    await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, { body })
    await until('the server to answer', async () => (await visit(offshoot, id, 3000)).status === 200, 60_000, 100)
  })

  afterAll(giveBack)

  const link = async (port = 3000, of = id) =>
    (await offshoot.request('POST', `/v1/sandboxes/${of}/ports/${port}/links`, { body: {} })).body as {
      id: string
      url: string
      token: string
    }

  /** A stream that is open when this resolves; `ended` resolves when the edge has closed it. */
  async function openStream(headers: Record<string, string> = {}) {
    const { url, host } = previewOf(offshoot, id, 3000)
    const [response] = (await once(get(`${url}/stream`, { headers: { host, ...headers } }), 'response')) as [
      IncomingMessage,
    ]
    await once(response, 'data')
    return { ended: new Promise((resolve) => response.once('close', resolve).once('error', resolve).resume()) }
  }

  it('is closed the moment the change is answered, for those who are connected too', async () => {
    const { ended } = await openStream()
    const changed = await offshoot.request('PATCH', `/v1/sandboxes/${id}`, { body: { visibility: 'private' } })
    expect([changed.status, changed.body.visibility]).toEqual([200, 'private'])
    // 503: the agent refused before the edge knew.
    expect([401, 503]).toContain((await visit(offshoot, id, 3000)).status)
    await ended
    await until('the edge to know', async () => (await visit(offshoot, id, 3000)).status === 401)
    const refused = await visit(offshoot, id, 3001, '/', { headers: { accept: 'application/json' } })
    expect(refused.body).toMatchObject({ error: 'this preview is private' })
    const { body: events } = await offshoot.request('GET', `/v1/sandboxes/${id}/events?tail=20`)
    const types = (events as { type: string }[]).map(({ type }) => type)
    expect(types).toContain('sandbox.visibility_changed')
  })

  it('opens with a link or a key, of which the guest sees nothing', async () => {
    const made = await link()
    const { host } = previewOf(offshoot, id, 3000)
    expect(made.url).toBe(`http://${host}/?offshoot_token=${made.token}`)
    const opened = await visit(offshoot, id, 3000, `/a?offshoot_token=${made.token}`, {
      headers: { accept: 'text/html' },
    })
    expect([opened.status, opened.headers.location]).toEqual([302, '/a'])
    const given = [{ cookie: cookieOf(opened) }, token(made.token), token(offshoot.credentials.api_key)]
    for (const headers of given) {
      const { status, text } = await visit(offshoot, id, 3000, '/a', { headers })
      expect(status).toBe(200)
      expect(text).not.toMatch(/ofl_|ofs_|offshoot-preview/)
    }
    expect((await visit(offshoot, id, 3001, '/', { headers: token(made.token) })).status).toBe(401)

    const { ended } = await openStream(token(made.token))
    const path = `/v1/sandboxes/${id}/ports/3000/links/${made.id}`
    expect((await offshoot.request('DELETE', path)).status).toBe(204)
    await ended
    // The edge may use its answer for the cookie for another second.
    const asked = { headers: { cookie: cookieOf(opened) } }
    await until('the cookie to be refused', async () => (await visit(offshoot, id, 3000, '/', asked)).status === 401)
  })

  it('stays private over a restart of agent and edge, and in a fork', async () => {
    const { body: child } = await offshoot.request('POST', `/v1/sandboxes/${id}/fork`)
    expect(child.visibility).toBe('private')
    for (const service of ['agent', 'edge'] as const) await offshoot.killService(service)
    await offshoot.healthy()
    const refused = async (of: string) => (await visit(offshoot, of, 3000)).status
    await until('the edge', async () => (await refused(id).catch(() => 0)) === 401)
    expect(await refused(child.id)).toBe(401)
    const { token: ours } = await link(3000, child.id)
    expect((await visit(offshoot, child.id, 3000, '/', { headers: token(ours) })).status).toBe(200)
    await offshoot.delete(child.id)
  })

  it.runIf(hasBrowser)('opens in a browser: with a link, and with the session of a member', async () => {
    const { email, password, base_url: url } = offshoot.credentials
    const { host } = previewOf(offshoot, id, 3000)
    const browser = await Browser.start()
    try {
      const linked = await browser.open((await link()).url)
      const seen = 'document.querySelector("#seen")?.textContent ?? ""'
      const shown = await until('the page', () => linked.evaluate(seen))
      expect(shown).not.toMatch(/ofl_|offshoot-preview/)
      expect(await linked.evaluate('location.href + document.cookie')).toBe(`http://${host}/`)
      expect(await linked.evaluate('fetch("/b").then(({ status }) => status)')).toBe(200)
    } finally {
      await browser.stop()
    }
    const other = await Browser.start()
    try {
      const stranger = await other.open(`http://${host}/page?a=1`)
      const title = () => stranger.evaluate('document.title')
      await until('the page of control', async () => (await title()) === '401 This preview is private')
      const signIn = await other.open(`${url}/healthz`)
      // Before that, the page has no address that a path could belong to.
      await until('the origin', async () => (await signIn.evaluate('location.origin')) === url)
      const body = JSON.stringify(JSON.stringify({ email, password }))
      const asked = `fetch('/api/auth/sign-in/email', { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${body} })`
      expect(await signIn.evaluate(`${asked}.then(({ status }) => status)`)).toBe(200)
      const member = await other.open(`http://${host}/page?a=1`)
      await until('the page', async () =>
        String(await member.evaluate('document.querySelector("#seen")?.textContent')).includes('"/page?a=1"'),
      )
      expect(await member.evaluate('location.href')).toBe(`http://${host}/page?a=1`)
    } finally {
      await other.stop()
    }
  })

  it('is public again for everybody', async () => {
    await offshoot.request('PATCH', `/v1/sandboxes/${id}`, { body: { visibility: 'public' } })
    await until('the edge to know', async () => (await visit(offshoot, id, 3000)).status === 200)
  })
})
