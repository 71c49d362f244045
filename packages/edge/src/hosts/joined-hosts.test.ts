import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { hostName } from '@offshoot/contract/fleet-identity'
import { CertificateAuthority, makeAuthority } from '@offshoot/kit/x509/certificate-authority'
import { certificateRequest, makePrivateKey } from '@offshoot/kit/x509/certificate-request'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EdgeUnderTest, patience, until } from '../test/edge-under-test.ts'
import { FakeAgent } from '../test/fake-agent.ts'
import { FakeControl } from '../test/fake-control.ts'

describe('a host that has joined', () => {
  let authority: CertificateAuthority
  let control: FakeControl
  let edge: EdgeUnderTest
  let servers: (Server | TcpServer)[]
  let agents: FakeAgent[]

  beforeEach(async () => {
    servers = []
    agents = []
    authority = await CertificateAuthority.open(await makeAuthority('Test'))
    control = await FakeControl.start()
    control.authority = authority
    edge = await EdgeUnderTest.start({}, { control: control.access })
  })

  afterEach(async () => {
    await edge.stop()
    await control.stop()
    for (const agent of agents) await agent.kill()
    for (const server of servers) server.close()
  })

  const identityOf = async (id: string) => {
    const key = makePrivateKey()
    const cert = await authority.sign(await certificateRequest(key), hostName(id), 3_600)
    return { cert, key, ca: authority.certificate }
  }
  /** @param as the host whose name is in the certificate */
  const startHost = async (id = randomUUID(), as = id) => {
    const agent = await FakeAgent.start(await identityOf(as))
    agents.push(agent)
    return { agent, host: { id, url: agent.url, secret: agent.secret } }
  }
  const listen = async (server: Server | TcpServer) => {
    servers.push(server.listen(0, '127.0.0.1'))
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }

  it('serves its sandboxes over TLS from when it comes until it goes', async () => {
    const { agent, host } = await startHost()
    const sandbox = randomUUID()
    agent.add(sandbox)
    const port = await listen(createServer((_request, response) => response.end('from afar')))
    const ask = () => edge.ask(port, '/', { headers: { host: edge.host(port, sandbox) } })
    expect((await ask()).status).toBe(404)
    control.tellHosts([host])
    await until('the edge to follow the host', () => agent.followers === 1)
    expect(await ask()).toMatchObject({ status: 200, body: 'from afar' })
    control.tellHosts([])
    await until('the edge to leave the host', () => agent.followers === 0)
    expect((await ask()).status).toBe(404)
    expect((await edge.ask(port)).body).toBe('from afar')
  })

  it('is not waited for if it is lost, also by those who wait already', async () => {
    const hosts = [await startHost(), await startHost()]
    const sandboxes = hosts.map(({ agent }) => {
      const sandbox = randomUUID()
      agent.add(sandbox)
      return sandbox
    })
    control.tellHosts(hosts.map(({ host }) => host))
    await until('the edge to follow the hosts', () => hosts.every(({ agent }) => agent.followers === 1))
    for (const { agent } of hosts) await agent.kill()
    const [lost, away] = sandboxes.map((sandbox) => edge.ask(80, '/', { headers: { host: edge.host(80, sandbox) } }))
    control.tellHosts(hosts.map(({ host }, at) => ({ ...host, is_lost: at === 0 })))
    expect(await Promise.race([lost, away?.then(() => 'the other one')])).toMatchObject({ status: 502 })
    control.tellHosts(hosts.map(({ host }) => ({ ...host, is_lost: true })))
    expect(await away).toMatchObject({ status: 502 })
  })

  it('is away if another machine has its address, so its sandboxes are looked for at control', async () => {
    const [former, heir] = [await startHost(), await startHost()]
    const sandbox = randomUUID()
    former.agent.add(sandbox)
    const port = await listen(createServer((_request, response) => response.end('from the heir')))
    const ask = () => edge.ask(port, '/', { headers: { host: edge.host(port, sandbox) } })
    control.tellHosts([{ ...former.host, is_lost: true }, heir.host])
    await until('the edge to follow the hosts', () => [former, heir].every(({ agent }) => agent.followers === 1))
    await former.agent.replace(await identityOf(randomUUID()))
    expect((await ask()).status).toBe(502)
    heir.agent.add(sandbox)
    control.onRelease = () => heir.agent.url
    expect(await ask()).toMatchObject({ status: 200, body: 'from the heir' })
    expect(former.agent.opened).toBe(0)
  })

  it('passes on the end of one direction, and a reset', async () => {
    const { agent, host } = await startHost()
    const sandbox = randomUUID()
    agent.add(sandbox)
    control.tellHosts([host])
    await until('the edge to follow the host', () => agent.followers === 1)
    const upgrade = (port: number) => {
      const socket = edge.connect()
      socket.write(
        `GET / HTTP/1.1\r\nhost: ${edge.host(port, sandbox)}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
      )
      return socket
    }
    const accepting = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'
    const ended = Promise.withResolvers<string>()
    const answering = await listen(
      createTcpServer({ allowHalfOpen: true }, (socket: Socket) => {
        socket.once('data', () => socket.write(accepting))
        socket.once('end', () => {
          ended.resolve('ended')
          socket.end('last words')
        })
      }),
    )
    const visitor = upgrade(answering)
    await once(visitor, 'data')
    const rest = patience('the last words').race(text(visitor))
    visitor.end('bye')
    expect(await ended.promise).toBe('ended')
    expect(await rest).toBe('last words')
    const resetting = await listen(
      createTcpServer((socket) => {
        socket.on('error', () => undefined)
        socket.once('data', () => socket.write(accepting, () => socket.resetAndDestroy()))
      }),
    )
    const cut = upgrade(resetting)
    await patience('the end of the connection').race(once(cut.resume(), 'close'))
    expect((await edge.ask(resetting, '/', { headers: { host: edge.host(resetting, sandbox) } })).status).toBe(502)
  })

  it('is not believed with the certificate of another host, nor about the sandboxes of others', async () => {
    const impostor = await startHost(randomUUID(), randomUUID())
    const { agent, host } = await startHost()
    impostor.agent.add(edge.id)
    agent.add(edge.id)
    const own = randomUUID()
    agent.add(own)
    const port = await listen(createServer((_request, response) => response.end('ok')))
    control.tellHosts([impostor.host, host])
    await until('the edge to follow the host', () => agent.followers === 1)
    agent.say(edge.id, 'sandbox.running', 'running')
    agent.say(edge.id, 'sandbox.deleted')
    expect((await edge.ask(port, '/', { headers: { host: edge.host(port, own) } })).status).toBe(200)
    expect((await edge.ask(port)).status).toBe(200)
    expect([impostor.agent.followers, impostor.agent.opened]).toEqual([0, 0])
    expect(agent.opened).toBe(1)
  })

  it('is reached once control has given the edge a certificate', async () => {
    control.authority = undefined
    const { agent, host } = await startHost()
    const sandbox = randomUUID()
    agent.add(sandbox)
    control.tellHosts([host])
    control.authority = authority
    await until('the edge to follow the host', () => agent.followers === 1)
    const port = await listen(createServer((_request, response) => response.end('ok')))
    expect((await edge.ask(port, '/', { headers: { host: edge.host(port, sandbox) } })).status).toBe(200)
  })

  it(
    'is reached while its authority is replaced, and no longer with a certificate of the old one',
    { tags: ['faults'] },
    async () => {
      control.trustVersion = 0
      const { agent, host } = await startHost()
      const sandbox = randomUUID()
      agent.add(sandbox)
      control.tellHosts([host])
      await until('the edge to follow the host', () => agent.followers === 1)
      const reported = (version: number) =>
        until(`version ${version}`, () =>
          (control.edgeVersions as { version: number }[]).some((each) => each.version === version),
        )
      const next = await CertificateAuthority.open(await makeAuthority('Test'))
      control.furtherAuthority = next.certificate
      control.trustVersion = 1
      await reported(1)
      const port = await listen(createServer((_request, response) => response.end('ok')))
      const ask = () => edge.ask(port, '/', { headers: { host: edge.host(port, sandbox) } })
      expect((await ask()).status).toBe(200)
      control.authority = next
      control.furtherAuthority = ''
      control.trustVersion = 2
      await reported(2)
      await until('the edge to leave the host', () => agent.followers === 0)
      expect(new Set((control.edgeVersions as { id: string }[]).map(({ id }) => id)).size).toBe(1)
    },
  )
})
