import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EdgeUnderTest } from '../test/edge-under-test.ts'
import { FakeAgent } from '../test/fake-agent.ts'
import { FakeControl } from '../test/fake-control.ts'

describe('a sandbox that has a stored copy', () => {
  let control: FakeControl
  let other: FakeAgent
  let edge: EdgeUnderTest
  let server: Server
  let port: number

  beforeEach(async () => {
    control = await FakeControl.start()
    other = await FakeAgent.start()
    edge = await EdgeUnderTest.start({}, { control: control.access }, [other])
    server = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
    edge.agent.held.add(edge.id)
  })

  afterEach(async () => {
    await edge.stop()
    await control.stop()
    await other.kill()
    server.close()
  })

  const release = (id: string) => {
    edge.agent.held.delete(id)
    return edge.agent.url
  }

  it('wakes for visitors after control has given the copy up', async () => {
    const asked: string[] = []
    control.onRelease = (id) => {
      asked.push(id)
      return release(id)
    }
    expect(await edge.ask(port)).toMatchObject({ status: 200, body: 'hello' })
    expect(await edge.ask(port)).toMatchObject({ status: 200, body: 'hello' })
    expect(asked).toEqual([edge.id])
  })

  it('wakes for an upgraded connection, too', async () => {
    control.onRelease = release
    const socket = edge.connect()
    socket.write(`GET / HTTP/1.1\r\nhost: ${edge.host(port)}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toContain('HTTP/1.1 200')
    socket.destroy()
  })

  it('is found at the host that has taken it over, also after its own host has died', async () => {
    control.onRelease = () => other.url
    other.add(edge.id)
    expect(await edge.ask(port)).toMatchObject({ status: 200, body: 'hello' })
    expect([edge.agent.opened, other.opened]).toEqual([1, 1])
    await edge.agent.kill()
    expect(await edge.ask(port)).toMatchObject({ status: 200, body: 'hello' })
  })

  it('is looked for at control if its host is away', { tags: ['faults'] }, async () => {
    control.onRelease = () => other.url
    other.add(edge.id)
    await edge.agent.kill()
    expect(await edge.ask(port)).toMatchObject({ status: 200, body: 'hello' })
    expect(other.opened).toBe(1)
  })

  it('is as unreachable as its host while control is away', async () => {
    await control.stop()
    expect((await edge.ask(port)).status).toBe(502)
    control = await FakeControl.start()
  })

  it('stays refused if nothing holds it but a move', async () => {
    control.onRelease = () => edge.agent.url
    expect((await edge.ask(port)).status).toBe(503)
    expect(edge.agent.opened).toBe(2)
  })
})
