import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import type { EdgeApp } from '@offshoot/contract/edge-app'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { EdgeUnderTest, until } from '../test/edge-under-test.ts'
import { FakeControl } from '../test/fake-control.ts'

describe('app hosts', () => {
  let control: FakeControl
  let edge: EdgeUnderTest
  let server: Server
  let port: number
  let second: string
  const id = randomUUID()

  beforeAll(async () => {
    control = await FakeControl.start()
    edge = await EdgeUnderTest.start({}, { control: control.access })
    second = randomUUID()
    edge.agent.add(second)
    server = createServer((request, response) => response.end(`served ${request.url} as ${request.headers.host}`))
    new WebSocketServer({ server }).on('connection', (socket) => socket.send('hello'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })

  afterAll(async () => {
    await edge.stop()
    await control.stop()
    server.closeAllConnections()
    server.close()
  })

  const authority = () => readFile(join(edge.folder, 'authority.pem'))
  const ask = (label: string, headers = {}) =>
    edge.ask(1, '/a?b', { headers: { host: `${label}.localhost`, ...headers } })
  const live = (...sandboxes: string[]): Omit<EdgeApp, 'as_of'> => ({
    id,
    host: 'site-alice',
    state: 'live',
    port,
    domains: [],
    certificates: {},
    sandbox_ids: sandboxes.length === 0 ? [edge.id] : sandboxes,
    max_instances: 3,
    is_sticky: false,
    visibility: 'public',
    is_changing: false,
  })

  it('answer 404 until control has announced them', async () => {
    expect((await ask(id)).status).toBe(404)
    for (const [state, status, text] of [
      ['none', 404, 'No code deployed yet'],
      ['building', 503, 'This app is being built'],
    ] as const) {
      control.tell({ ...live(), state, sandbox_ids: [] })
      await until('the state', async () => (await ask('site-alice')).body.includes(text))
      expect((await ask(id)).status).toBe(status)
    }
    expect(JSON.parse((await ask(id, { accept: 'application/json' })).body).error).toBe('this app is being built')
  })

  it('are what control says at the moment, when they are asked for before the news have come', async () => {
    const early = { ...live(), id: randomUUID(), host: 'early-alice', domains: ['early.example.com'] }
    const unserved = { ...early, sandbox_ids: [] }
    expect((await ask(early.id, { accept: 'application/json' })).body).toContain('"not found"')
    control.know({ ...unserved, state: 'building' })
    expect((await ask(early.id)).status).toBe(503)
    control.know({ ...unserved, state: 'none' })
    expect((await ask('early-alice')).status).toBe(404)
    control.know(early)
    expect((await edge.ask(1, '/', { headers: { host: 'early.example.com' } })).status).toBe(200)
    control.tellGone(early.id)

    const opened: string[] = []
    edge.agent.onOpen = (sandbox) => {
      opened.push(sandbox)
      return null
    }
    const moving = { ...live(), id: randomUUID(), host: null, is_changing: true }
    control.tell(moving)
    control.know({ ...moving, sandbox_ids: [second], is_changing: false })
    expect((await ask(moving.id)).status).toBe(200)
    expect(opened).toEqual([second])
    edge.agent.onOpen = () => null

    const socket = new WebSocket(`ws://127.0.0.1:${edge.port}`, { headers: { host: `${moving.id}.localhost` } })
    await once(socket, 'message')
    control.tellLate(moving)
    control.tell({ ...early, id: moving.id, host: 'moved-alice', sandbox_ids: [second] })
    await until('what was told after it', async () => (await ask('moved-alice')).status === 200)
    expect(socket.readyState).toBe(WebSocket.OPEN)
    socket.terminate()
    control.tellGone(moving.id)
  })

  it('lead to the sandbox that serves, by id and by name, in any case', async () => {
    control.tell(live())
    await until('the app', async () => (await ask(id)).status === 200)
    expect((await ask('SITE-alice')).body).toBe('served /a?b as SITE-alice.localhost')
    expect((await ask(`x.${id}`)).status).toBe(404)
  })

  it('end WebSockets with 1012 when another version takes over, also those of the sandbox’s own address', async () => {
    const open = (host: string) => new WebSocket(`ws://127.0.0.1:${edge.port}`, { headers: { host } })
    const [socket, own] = [open(`${id}.localhost`), open(edge.host(port))]
    await Promise.all([once(socket, 'message'), once(own, 'message')])
    const closed = Promise.all([once(socket, 'close'), once(own, 'close')])
    control.tell(live(second))
    expect((await closed).map(([code]) => code as number)).toEqual([1012, 1012])
    await until('the other version', async () => (await ask(id)).status === 200)
  })

  it('end one with 1012 too that is only agreed to once another version has taken over', async () => {
    const asked = Promise.withResolvers<() => void>()
    const [upgrade] = server.listeners('upgrade')
    server.removeAllListeners('upgrade').once('upgrade', (...args) => asked.resolve(() => upgrade?.(...args)))
    const socket = new WebSocket(`ws://127.0.0.1:${edge.port}`, { headers: { host: `${id}.localhost` } })
    const agree = await asked.promise
    server.on('upgrade', upgrade as () => void)
    let opened = ''
    edge.agent.onOpen = (sandbox) => {
      opened = sandbox
      return null
    }
    control.tell(live(edge.id))
    await until('the other version to be known', async () => {
      const own = new WebSocket(`ws://127.0.0.1:${edge.port}`, { headers: { host: `${id}.localhost` } })
      await once(own, 'message')
      own.terminate()
      return opened === edge.id
    })
    edge.agent.onOpen = () => null
    const closed = once(socket, 'close')
    agree()
    expect((await closed)[0]).toBe(1012)
    control.tell(live(second))
    await until('the version as it was', async () => (await ask(id)).status === 200)
  })

  it('keep no connection to a version when another takes over', async () => {
    const [own, other, neighbour] = [randomUUID(), randomUUID(), randomUUID()]
    for (const sandbox of [own, other, neighbour]) edge.agent.add(sandbox)
    const app = { ...live(own), id: randomUUID(), host: null }
    control.tell(app)
    const ended: string[] = []
    const opens = async (host: string) => {
      const connected = once(server, 'connection') as Promise<[Socket]>
      await until(host, async () => (await edge.ask(1, '/', { headers: { host } })).status === 200)
      const [socket] = await connected
      socket.once('close', () => ended.push(host))
    }
    // Opened first, so an idle timeout alone would close this one first.
    await opens(`${port}-${neighbour}.localhost`)
    await opens(`${app.id}.localhost`)
    control.tell({ ...app, sandbox_ids: [other] })
    await until('the end of the connection', () => ended.length > 0)
    expect(ended[0]).toBe(`${app.id}.localhost`)
    control.tellGone(app.id)
  })

  it.each([402, 409])(
    'say that an app whose sandbox may not run (%i) is suspended, whatever is asked for',
    async (status) => {
      edge.agent.onOpen = () => status
      edge.agent.say(second, 'sandbox.paused', 'paused')
      await until('the pause to be known', async () => (await ask(id)).status === 503)
      const { headers, ...page } = await ask(id, { accept: 'application/json' })
      expect([page.status, headers['retry-after'], headers['x-service-app'], headers['content-type']]).toEqual([
        503,
        '3600',
        'suspended',
        'text/html; charset=utf-8',
      ])
      edge.agent.onOpen = () => null
      edge.agent.say(second, 'sandbox.resumed', 'running')
      await until('the end of the pause to be known', async () => (await ask(id)).status === 200)
    },
  )

  it('tell control of the instances they need, and spread visitors over those that there are', async () => {
    control.tell(live(edge.id, second))
    const held: ServerResponse[] = []
    const answerAtOnce = server.listeners('request')
    server.removeAllListeners('request').on('request', (_request, response) => held.push(response))
    const opened: string[] = []
    edge.agent.onOpen = (sandbox) => {
      opened.push(sandbox)
      return null
    }
    const answers = Array.from({ length: 24 }, () => ask(id))
    await until('all of them', () => held.length === 24)
    await until('the load', () => control.loads.some(({ apps }) => apps.some(({ needed }) => needed === 3)))
    expect(control.loads.at(-1)).toEqual({ apps: [{ id, needed: 3 }] })
    // One of them may have had a kept connection before.
    for (const sandbox of [edge.id, second])
      expect(opened.filter((each) => each === sandbox).length).toBeGreaterThanOrEqual(11)
    for (const response of held) response.end()
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 200))
    server.removeAllListeners('request')
    for (const listener of answerAtOnce) server.on('request', listener as () => void)
    edge.agent.onOpen = () => null
  })

  it('keep a visitor with one instance where the app wants it, and show the app nothing of it', async () => {
    control.tell({ ...live(edge.id, second), is_sticky: true })
    let cookie = ''
    await until('the cookie', async () => {
      cookie = (await ask(id)).headers['set-cookie']?.[0] ?? ''
      return cookie !== ''
    })
    expect(cookie).toMatch(/^offshoot-instance=[0-9a-f]{16}; Path=\/; HttpOnly; SameSite=Lax$/)
    const [pair = ''] = cookie.split(';')
    const again = await ask(id, { cookie: pair })
    expect([again.status, again.headers['set-cookie']]).toEqual([200, undefined])
    control.tell(live(second))
    await until('the app as it was', async () => (await ask(id)).headers['set-cookie'] === undefined)
  })

  it('are domains of their own too, until they are taken away or become another app’s', async () => {
    const at = async (host: string) => (await edge.ask(1, '/a', { headers: { host } })).status
    const other = randomUUID()
    control.tell({ ...live(), domains: ['www.example.com', 'moved.example.com'] })
    await until('the domain', async () => (await at('www.example.com')) === 200)
    expect(await at('WWW.Example.com.:8081')).toBe(200)
    for (const host of ['example.com', 'x.www.example.com', 'www.example.com.evil']) expect(await at(host)).toBe(404)

    const socket = connectTls({
      host: '127.0.0.1',
      port: edge.port,
      servername: 'www.example.com',
      ca: await authority(),
    })
    await once(socket, 'secureConnect')
    expect([socket.authorized, socket.getPeerCertificate().subjectaltname]).toEqual([true, 'DNS:www.example.com'])
    socket.destroy()

    // The worse order: the domain's new app is reported first.
    control.tell({
      ...live(),
      id: other,
      host: null,
      domains: ['moved.example.com'],
      sandbox_ids: [],
      state: 'none',
    })
    control.tell({ ...live(), domains: ['www.example.com'] })
    control.tell({ ...live(), domains: [] })
    await until('the end of a domain', async () => (await at('www.example.com')) === 404)
    const moved = await edge.ask(1, '/', { headers: { host: 'moved.example.com', accept: 'application/json' } })
    expect(JSON.parse(moved.body).error).toBe('no code deployed yet')
    control.tellGone(other)
    const answer = async () =>
      (await edge.ask(1, '/', { headers: { host: 'moved.example.com', accept: 'application/json' } })).body
    await until('the end of an app', async () => JSON.parse(await answer()).error === 'not found')
  })

  it('are served on while control is away, and what was missed is made up for', async () => {
    control.apps = []
    control.cut()
    await until('the app to be gone', async () => (await ask(id)).status === 404)
    control.apps = [live()]
    control.cut()
    await until('the app to be back', async () => (await ask(id)).status === 200)
    control.tellGone(id)
    await until('the app to be gone', async () => (await ask('site-alice')).status === 404)
  })
})
