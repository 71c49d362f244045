import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { hangUp, json, ScriptedServer } from '../test/scripted-server.ts'
import { AuthenticationError, ConnectionError, NotFoundError } from './errors.ts'
import { follow, followLines } from './follow.ts'
import { requestTo } from './routes.ts'
import { Transport } from './transport.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.stop())

const request = requestTo('GET /v1/events', { query: { follow: true } })
const frame = (id: number, event = 'line') => `event: ${event}\nid: ${id}\ndata: number ${id}\n\n`

/** Sends events, then ends the stream or breaks the connection. */
const events =
  (text: string, end: 'ends' | 'breaks' = 'breaks') =>
  (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text, () => (end === 'ends' ? response.end() : response.destroy()))
  }

async function read(options = {}, asked = request): Promise<string[]> {
  const seen: string[] = []
  const transport = new Transport({ ...server.options, maxRetries: 0 })
  for await (const { data } of follow(transport, asked, { isLast: ({ event }) => event === 'done', ...options })) {
    seen.push(data)
  }
  return seen
}

describe('following a stream', () => {
  it('continues after the last event that arrived, however the connection ended', async () => {
    server.script(
      events(frame(1) + frame(2) + 'id: 3\ndata: cut'),
      hangUp,
      events(frame(3), 'ends'),
      json(502, { error: 'agent unreachable' }),
      events(frame(4, 'done')),
    )
    expect(await read()).toEqual([1, 2, 3, 4].map((n) => `number ${n}`))
    const positions = server.received.map(({ headers }) => headers['last-event-id'])
    expect(positions).toEqual([undefined, '2', '2', '3', '3'])
  })

  it('begins after a position', async () => {
    server.script(events(frame(8, 'done')))
    expect(await read({ after: '7' })).toEqual(['number 8'])
    expect(server.received[0]?.headers['last-event-id']).toBe('7')
  })

  it('yields lines without the event that ends them', async () => {
    server.script(events('data: one\n\ndata: two\n\nevent: done\ndata: \n\n'))
    const lines: string[] = []
    for await (const line of followLines(new Transport(server.options), request)) lines.push(line)
    expect(lines).toEqual(['one', 'two'])
  })

  it('ends when the followed object is deleted, but not if it was never there', async () => {
    server.script(events(frame(1)), json(404, { error: 'not found' }))
    expect(await read()).toEqual(['number 1'])
    server.script(json(404, { error: 'not found' }))
    await expect(read()).rejects.toBeInstanceOf(NotFoundError)
  })

  it('throws refusals at once, and gives up after connections in a row without an event', async () => {
    server.script(events(frame(1)), json(401, { error: 'unauthorized' }))
    await expect(read()).rejects.toBeInstanceOf(AuthenticationError)
    server.script(hangUp)
    await expect(read({ maxFruitless: 1 })).rejects.toBeInstanceOf(ConnectionError)
    expect(server.received).toHaveLength(2)
  })

  it('does not give up when the service ends a quiet stream again and again, hours later each time', async () => {
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    let end: (() => void) | undefined
    const endsAfter = (ms: number) => (response: ServerResponse) => {
      end = () => {
        now += ms
        response.end()
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': \n\n')
    }
    const patience = { maxFruitless: 1, onConnection: (isOpen: boolean) => isOpen && end?.() }
    try {
      server.script(...Array.from({ length: 4 }, () => endsAfter(3_600_000)), events(frame(1, 'done')))
      expect(await read(patience)).toEqual(['number 1'])
      server.script(endsAfter(1000))
      await expect(read(patience)).rejects.toBeInstanceOf(ConnectionError)
    } finally {
      clock.mockRestore()
    }
  })

  it('tells of connections, and ends with the reason of the signal', async () => {
    const aborter = new AbortController()
    const told: boolean[] = []
    server.script(events(frame(1)), (response) => {
      response.writeHead(200).write(': \n\n')
      setTimeout(() => aborter.abort(new Error('enough')), 20)
    })
    const following = read(
      { onConnection: (isOpen: boolean) => told.push(isOpen) },
      { ...request, signal: aborter.signal },
    )
    await expect(following).rejects.toThrow('enough')
    expect(told).toEqual([true, false, true])
  })
})
