/** Routing by host, and the refusals for unknown hosts. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { EdgeUnderTest, until } from '../test/edge-under-test.ts'
import { serveEdge } from '../test/serve-edge.ts'

const here = serveEdge()
const statusOf = async (host: string) => (await here.edge.ask(here.port, '/', { headers: { host } })).status

describe('a host', () => {
  it('may be written in capitals, with a dot at the end, with any port', async () => {
    const name = `${here.port}-${here.edge.id}`
    for (const host of [
      `${name}.LOCALHOST`,
      `${name.toUpperCase()}.localhost`,
      `${name}.localhost.`,
      `${name}.localhost:1`,
    ]) {
      expect([host, await statusOf(host)]).toEqual([host, 200])
    }
  })

  it('that is no preview host is 404, and says nothing of any sandbox', async () => {
    const { id } = here.edge
    const tricks = ['localhost', `${here.port}-${id}.localhost.evil`, `0-${id}.localhost`, `65536-${id}.localhost`]
    tricks.push(`x.${here.port}-${id}.localhost`, `${here.port}-${id}`, '127.0.0.1', `${id}.localhost`, '[::1]')
    const before = here.edge.agent.opened
    for (const host of tricks) expect([host, await statusOf(host)]).toEqual([host, 404])
    expect(here.edge.agent.opened).toBe(before)
  })

  it('of the edge itself answers that it is there', async () => {
    expect(await here.edge.ask(here.port, '/healthz', { headers: { host: 'localhost' } })).toMatchObject({
      status: 200,
      body: '{"status":"ok"}',
    })
  })
})

describe('a sandbox', () => {
  it('that is not there is 404; one that has just come is found before the news of it', async () => {
    const id = randomUUID()
    const host = here.edge.host(here.port, id)
    expect(await statusOf(host)).toBe(404)
    here.edge.agent.add(id)
    expect(await statusOf(host)).toBe(200)
  })

  it('that is deleted is 404 at once, and others go on', async () => {
    const id = randomUUID()
    here.edge.agent.say(id, 'sandbox.running', 'running')
    await until('the sandbox to be known', async () => (await statusOf(here.edge.host(here.port, id))) === 200)
    here.edge.agent.say(id, 'sandbox.deleted')
    await until('the sandbox to be gone', async () => (await statusOf(here.edge.host(here.port, id))) === 404)
    expect(await statusOf(here.edge.host(here.port))).toBe(200)
  })

  it('that is paused is 503 until it is resumed, though connections into it are still open', async () => {
    const { agent, id } = here.edge
    expect((await here.edge.ask(here.port)).status).toBe(200)
    agent.onOpen = () => 409
    agent.say(id, 'sandbox.paused', 'paused')
    await until('the pause to be known', async () => (await here.edge.ask(here.port)).status === 503)
    expect((await here.edge.ask(here.port)).headers['retry-after']).toBe('1')
    agent.onOpen = () => null
    // The agent decides, whether or not its event has arrived.
    expect((await here.edge.ask(here.port)).status).toBe(200)
    agent.say(id, 'sandbox.resumed', 'running')
  })

  it('that is hibernated is waited for', async () => {
    const { agent, id } = here.edge
    const woken = Promise.withResolvers<null>()
    agent.say(id, 'sandbox.hibernated', 'hibernated')
    agent.onOpen = () => woken.promise
    const fresh = await here.saying('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    const before = agent.opened
    const answer = here.edge.ask(fresh)
    await until('the edge to ask', () => agent.opened > before)
    woken.resolve(null)
    expect((await answer).status).toBe(200)
    agent.onOpen = () => null
    agent.say(id, 'sandbox.woken', 'running')
  })

  it.each([
    [404, 404, 'not found or not running'],
    [409, 503, 'paused'],
    [429, 429, 'too many connections'],
    [502, 502, 'nothing is listening on port'],
    [507, 503, 'memory'],
    [500, 502, 'agent unreachable'],
  ])('whose agent refuses with %i is %i', async (status, answered, why) => {
    const { agent } = here.edge
    const fresh = await here.saying('')
    agent.onOpen = () => status
    const page = await here.edge.ask(fresh)
    expect([page.status, page.headers['content-type'], page.headers['cache-control']]).toEqual([
      answered,
      'text/html; charset=utf-8',
      'no-store',
    ])
    expect(page.body.toLowerCase()).toContain(why)
    expect(page.body).toMatch(/<p>.+<\/p>[^]*Request id: <code>/)
    const json = await here.edge.ask(fresh, '/', { headers: { accept: 'application/json' } })
    expect(JSON.parse(json.body).error).toContain(why)
    expect((await here.edge.ask(fresh, '/', { method: 'HEAD' })).body).toBe('')
    agent.onOpen = () => null
  })

  it('without a server answers how to start one', async () => {
    const page = await here.edge.ask(1)
    expect([page.status, page.body.includes('<code>python3 -m http.server 1</code>')]).toEqual([502, true])
  })
})

describe('an agent that is away', () => {
  it('is waited for by requests; its sandboxes stay known', async () => {
    const { agent } = here.edge
    await agent.kill()
    const answer = here.edge.ask(here.port)
    const before = agent.opened
    await agent.listen()
    expect((await answer).status).toBe(200)
    expect(agent.opened).toBeGreaterThan(before)
    await until('the edge to follow again', () => agent.followers === 1)
  })

  it('and came back without a sandbox is believed', async () => {
    const id = randomUUID()
    const { agent } = here.edge
    agent.say(id, 'sandbox.running', 'running')
    await until('the sandbox to be known', async () => (await statusOf(here.edge.host(here.port, id))) === 200)
    await agent.kill()
    agent.sandboxes.delete(id)
    await agent.listen()
    await until('the edge to follow again', () => agent.followers === 1)
    await until('the sandbox to be gone', async () => (await statusOf(here.edge.host(here.port, id))) === 404)
  })
})

describe('the limits of a sandbox', () => {
  it('are its own: one that asks too much starves no other', async () => {
    const edge = await EdgeUnderTest.start({ requests_per_second: 1, concurrent: 3 })
    const other = randomUUID()
    edge.agent.add(other)
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await edge.ask(here.port)).status))
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(7)
    expect((await edge.ask(here.port, '/', { headers: { host: edge.host(here.port, other) } })).status).toBe(200)
    await edge.stop()
  })

  it('end with the requests that took them', async () => {
    const edge = await EdgeUnderTest.start({ concurrent: 2 })
    here.answer = (_request, response) => response.write('endless')
    const open = [await edge.open(here.port), await edge.open(here.port)]
    expect((await edge.ask(here.port)).status).toBe(429)
    for (const response of open) response.socket.resetAndDestroy()
    await until('room', async () => {
      const response = await edge.open(here.port)
      response.destroy()
      return response.statusCode === 200
    })
    await edge.stop()
  })

  it('wait for a wake no longer than they say', async () => {
    const edge = await EdgeUnderTest.start({ wake_seconds: 1 })
    edge.agent.onOpen = () => new Promise(() => undefined)
    expect((await edge.ask(here.port)).status).toBe(504)
    await edge.stop()
  })
})

it('ends after SIGTERM: finishes running requests, and closes idle connections', async () => {
  const edge = await EdgeUnderTest.start()
  let finish: (() => void) | undefined
  here.answer = (_request, response) => {
    response.write('be')
    finish = () => response.end('gun')
  }
  const idle = edge.connect()
  await once(idle, 'connect')
  const response = await edge.open(here.port)
  const closed = once(edge.edge.front.server, 'close')
  edge.edge.front.close()
  finish?.()
  let body = ''
  for await (const chunk of response) body += String(chunk)
  expect(body).toBe('begun')
  idle.destroy()
  await closed
  await edge.stop()
})
