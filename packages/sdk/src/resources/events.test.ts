import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { json, ScriptedServer } from '../test/scripted-server.ts'
import { Offshoot } from '../client.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.stop())

const breaks = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': \n\n', () => response.destroy())
}
const brings = (id: string) => (response: ServerResponse) =>
  response.writeHead(200).write(`event: ev\nid: ${id}\ndata: {"id":"${id}","sandbox_id":null}\n\n`)

it('a connection that breaks before it has brought an event loses none', async () => {
  server.script(json(200, [{ id: '4-1' }]), breaks, brings('5-1'))
  const client = new Offshoot(server.options)
  for await (const event of client.events({ tail: 0, type: ['deploy.*', 'build.failed'] })) {
    expect(event).toEqual({ id: '5-1', sandboxId: null })
    break
  }
  const followed = '/v1/events?since=4-1&type=deploy.*%2Cbuild.failed&follow=true'
  expect(server.received.map(({ url }) => url)).toEqual([
    '/v1/events?tail=1&type=deploy.*%2Cbuild.failed',
    followed,
    followed,
  ])
})

it('a workspace without events is followed from its first one', async () => {
  server.script(json(200, []), brings('1-1'))
  for await (const { id } of new Offshoot(server.options).events()) {
    expect(id).toBe('1-1')
    break
  }
  expect(server.received.map(({ url }) => url)).toEqual(['/v1/events?tail=100', '/v1/events?tail=1000&follow=true'])
})
