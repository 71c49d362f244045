import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { json, ScriptedServer } from '../test/scripted-server.ts'
import { Offshoot } from '../client.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.stop())

const CONNECTED = 'event: connected\ndata: {}\n\n'
const changed = (id: string) => `event: change\ndata: {"kind":"volume_snapshot","id":"${id}"}\n\n`

it('changes go on after a break, with the word to read everything again', async () => {
  server.script(
    (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(CONNECTED + changed('a') + 'event: missed\ndata: {}\n\nevent: later\ndata: {}\n\n', () =>
        response.destroy(),
      )
    },
    json(503, { error: 'unavailable' }),
    (response: ServerResponse) => response.writeHead(200).write(CONNECTED + changed('b')),
  )
  const seen: unknown[] = []
  const client = new Offshoot({ ...server.options, maxRetries: 0 })
  for await (const change of client.changes({ onConnection: (isOpen) => seen.push(isOpen) })) {
    seen.push(change)
    if (change !== 'everything' && change.id === 'b') break
  }
  expect(seen).toEqual([
    true,
    'everything',
    { kind: 'volume_snapshot', id: 'a' },
    'everything',
    false,
    false,
    true,
    'everything',
    { kind: 'volume_snapshot', id: 'b' },
  ])
  expect(server.received.map(({ url }) => url)).toEqual(Array(3).fill('/v1/changes'))
})

it('an aborted signal ends the changes', async () => {
  server.script((response: ServerResponse) => response.writeHead(200).write(CONNECTED))
  const leave = new AbortController()
  const follow = async () => {
    for await (const _change of new Offshoot(server.options).changes({ signal: leave.signal })) leave.abort()
  }
  await expect(follow()).rejects.toMatchObject({ name: 'AbortError' })
})
