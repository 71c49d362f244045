import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EdgeUnderTest } from '../test/edge-under-test.ts'
import { FakeAgent } from '../test/fake-agent.ts'

describe('a sandbox that has moved to another host', () => {
  const server = createServer((_request, response) => response.end('ok'))
  let other: FakeAgent
  let here: EdgeUnderTest

  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    other = await FakeAgent.start()
    here = await EdgeUnderTest.start({}, {}, [other])
  })

  afterAll(async () => {
    await here.stop()
    await other.kill()
    server.close()
  })

  it('is found there by the request that its old host refuses', async () => {
    const { port } = server.address() as AddressInfo
    // No connection is kept, as after a hibernation.
    const headers = { connection: 'close' }
    expect(await here.ask(port, '/', { headers })).toMatchObject({ status: 200, body: 'ok' })
    const before = here.agent.opened
    here.agent.sandboxes.delete(here.id)
    other.add(here.id, 'hibernated')
    server.closeAllConnections()
    expect(await here.ask(port, '/', { headers })).toMatchObject({ status: 200, body: 'ok' })
    expect([here.agent.opened, other.opened]).toEqual([before + 1, 1])
    other.sandboxes.delete(here.id)
    server.closeAllConnections()
    expect((await here.ask(port, '/', { headers })).status).toBe(404)
  })
})
