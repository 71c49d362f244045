/** Servers in a sandbox as visitors see them: through edge, agent and a real guest. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { previewOf, visit } from './setup/preview.ts'
import { until } from './setup/until.ts'

/** Answers with its request, counts requests, echoes uploads, and reports the visitor's address. */
const SERVER = `
const http = require('http')
let count = 0
const serve = (request, response) => {
  if (request.url === '/echo') return request.pipe(response)
  count += 1
  response.end(JSON.stringify({ count, url: request.url, host: request.headers.host, pid: process.pid }))
}
http.createServer(serve).listen(3000, '127.0.0.1')
http.createServer(serve).listen(3001, '0.0.0.0')
http.createServer(serve).listen(3002, '::1')
require('net').createServer((socket) => socket.pipe(socket)).listen(3003, '127.0.0.1')
`

describe('previews', () => {
  let offshoot: Offshoot
  let id: string

  beforeAll(async () => {
    offshoot = await borrow()
    id = await serving()
  })

  afterAll(giveBack)

  /** Creates a sandbox in which the server above runs. */
  async function serving(body: Record<string, unknown> = {}): Promise<string> {
    const { id: made } = await offshoot.create({ template: 'base', ...body })
    await offshoot.request('PUT', `/v1/sandboxes/${made}/fs?path=/srv/server.js`, { body: SERVER })
    await offshoot.request('POST', `/v1/sandboxes/${made}/exec`, {
      body: { cmd: 'node /srv/server.js', background: true },
    })
    await until('the server to answer', async () => (await visit(offshoot, made, 3000)).status === 200, 60_000, 100)
    return made
  }

  const eventsOf = async (sandbox: string, type: string) => {
    const { body } = await offshoot.request('GET', `/v1/sandboxes/${sandbox}/events?tail=500`)
    return (body as { type: string; metadata: { port: number } }[]).filter((event) => event.type === type)
  }

  it.each([3000, 3001, 3002])('reach a server at whatever address it listens: port %i', async (port) => {
    const answer = await visit(offshoot, id, port, '/a?b=c')
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toMatchObject({ url: '/a?b=c', host: previewOf(offshoot, id, port).host })
  })

  it('are listed with their addresses, and make events as they open and close', async () => {
    const { body } = await offshoot.request('GET', `/v1/sandboxes/${id}/ports`)
    const { host } = previewOf(offshoot, id, 3000)
    expect(body).toEqual(
      [3000, 3001, 3002, 3003].map((port) => ({
        port,
        label: null,
        listening: true,
        source: 'detected',
        url: `http://${host.replace('3000', String(port))}`,
      })),
    )
    await until('all to be told', async () => (await eventsOf(id, 'sandbox.port_opened')).length === 4)
    await offshoot.request('POST', `/v1/sandboxes/${id}/exec`, {
      body: { cmd: 'python3 -m http.server 4000', background: true },
    })
    const opened = async () =>
      (await eventsOf(id, 'sandbox.port_opened')).some(({ metadata }) => metadata.port === 4000)
    await until('the port to be told', opened, 60_000, 100)
    await offshoot.exec(id, 'pkill -f http.server')
    const closed = async () =>
      (await eventsOf(id, 'sandbox.port_closed')).some(({ metadata }) => metadata.port === 4000)
    await until('its end to be told', closed, 60_000, 100)
  })

  it('carry uploads and downloads whole', { tags: ['faults'] }, async () => {
    const body = randomBytes(8 * 1024 * 1024)
    const { url, host } = previewOf(offshoot, id, 3000)
    const echoed = request(`${url}/echo`, { method: 'POST', headers: { host } })
    echoed.end(body)
    const [response] = await once(echoed, 'response')
    const hash = createHash('sha256')
    for await (const chunk of response) hash.update(chunk as Buffer)
    expect(hash.digest('hex')).toBe(createHash('sha256').update(body).digest('hex'))
  })

  it('say what to do where nothing listens, and what is not there', async () => {
    const page = await visit(offshoot, id, 5999)
    expect([page.status, page.text.includes('python3 -m http.server 5999')]).toEqual([502, true])
    const json = await visit(offshoot, id, 5999, '/', { headers: { accept: 'application/json' } })
    expect(json.body.error).toBe('nothing is listening on port 5999')
    // This server does not speak HTTP.
    expect((await visit(offshoot, id, 3003)).status).toBe(502)
    expect(
      (
        await visit(
          offshoot,
          id.replace(/^./, (first) => (first === '0' ? '1' : '0')),
          3000,
        )
      ).status,
    ).toBe(404)
  })

  it('wake a hibernated sandbox, once for all who come; a paused one is 503', async () => {
    await offshoot.request('POST', `/v1/sandboxes/${id}/hibernate`)
    const answers = await Promise.all(Array.from({ length: 5 }, () => visit(offshoot, id, 3000)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(await eventsOf(id, 'sandbox.woken')).toHaveLength(1)

    await offshoot.request('POST', `/v1/sandboxes/${id}/pause`)
    await until('the pause to be known', async () => (await visit(offshoot, id, 3001)).status === 503)
    await offshoot.request('POST', `/v1/sandboxes/${id}/resume`)
    expect((await visit(offshoot, id, 3001)).status).toBe(200)
  })

  it('of a fork are its own', async () => {
    const before = JSON.parse((await visit(offshoot, id, 3000)).text) as { count: number; pid: number }
    const { body: child } = await offshoot.request('POST', `/v1/sandboxes/${id}/fork`)
    for (let i = 1; i <= 3; i++) {
      const { count, pid } = JSON.parse((await visit(offshoot, child.id, 3000)).text)
      expect([count, pid]).toEqual([before.count + i, before.pid])
    }
    expect(JSON.parse((await visit(offshoot, id, 3000)).text).count).toBe(before.count + 1)
    await offshoot.delete(child.id)
    expect((await visit(offshoot, child.id, 3000)).status).toBe(404)
  })

  it('are served on while control is killed, and soon again when agent or edge are', { tags: ['faults'] }, async () => {
    const back = new AbortController()
    const restarted = offshoot.killService('control').finally(() => back.abort())
    const statuses = new Set<number>()
    while (!back.signal.aborted) statuses.add((await visit(offshoot, id, 3000)).status)
    await restarted
    expect([...statuses]).toEqual([200])

    const { pid } = await until('the agent', () => offshoot.service('agent'))
    process.kill(pid, 'SIGKILL')
    // The request waits for the agent, and then uses a new connection.
    expect((await visit(offshoot, id, 3000)).status).toBe(200)
    await offshoot.healthy()

    await offshoot.killService('edge')
    await until('the edge to serve', async () => (await visit(offshoot, id, 3000).catch(() => null))?.status === 200)
  })

  it('are forgotten with their sandbox', async () => {
    const { id: made } = await offshoot.create({ template: 'base' })
    expect((await visit(offshoot, made, 3000)).status).toBe(502)
    await offshoot.delete(made)
    expect((await visit(offshoot, made, 3000)).status).toBe(404)
  })
})
