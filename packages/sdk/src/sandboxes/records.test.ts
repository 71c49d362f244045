import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ScriptedServer } from '../test/scripted-server.ts'
import { Scope } from '../http/scope.ts'
import { Transport } from '../http/transport.ts'
import { followEvents, followLogs, type GapOptions, type LogsOptions } from './records.ts'

let server: ScriptedServer
beforeAll(async () => {
  server = await ScriptedServer.start()
})
afterAll(() => server.stop())

const scope = () => new Scope(new Transport(server.options), { id: 'x' })
const frame = (n: number, data: object = { line: `${n}`, type: 'sandbox.running' }) =>
  `id: ${n}\ndata: ${JSON.stringify(data)}\n\n`
/** Sends entries, then breaks the connection. */
const entries =
  (...frames: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200).write(frames.join(''), () => response.destroy())
  }
/** Says where the stream begins, then breaks the connection. */
const opens = (position: number) => (response: ServerResponse) =>
  response.writeHead(200, { 'last-event-id': String(position) }).write(': \n\n', () => response.destroy())
/** Says that the sandbox is deleted. */
const gone = (response: ServerResponse) => response.writeHead(404).end('{"error":"sandbox not found"}')

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const each of stream) seen.push(each)
  return seen
}

const lines = async (options: GapOptions & LogsOptions = {}) =>
  (await all(followLogs(scope(), options))).map(({ line }) => line)

const numbers = async (options = {}) => (await all(followEvents(scope(), options))).map(({ number }) => number)

describe('a followed log', () => {
  it('goes on after the last line when the connection breaks', async () => {
    server.script(entries(frame(5), frame(6)), entries(frame(7)), gone)
    expect(await lines()).toEqual(['5', '6', '7'])
    expect(server.received.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '6', '7'])
  })

  it('says exactly which lines were dropped meanwhile', async () => {
    server.script(entries(frame(5)), entries(frame(9)), gone)
    await expect(lines()).rejects.toMatchObject({ name: 'MissingDataError', from: 6, to: 9 })
    server.script(entries(frame(5)), entries(frame(9), frame(10)), gone)
    const gaps: object[] = []
    expect(await lines({ onGap: (gap) => gaps.push(gap) })).toEqual(['5', '9', '10'])
    expect(gaps).toEqual([{ from: 6, to: 9 }])
  })

  it('begins where it was opened, also if the connection breaks before its first line', async () => {
    server.script(opens(4), entries(frame(5)), gone)
    expect(await lines({ tail: 0 })).toEqual(['5'])
    expect(server.received[1]?.headers['last-event-id']).toBe('4')
    // A log that was empty.
    server.script(opens(0), entries(frame(1)), gone)
    expect(await lines({ tail: 0 })).toEqual(['1'])
    server.script(opens(4), entries(frame(9)), gone)
    await expect(lines({ tail: 0 })).rejects.toMatchObject({ name: 'MissingDataError', from: 5, to: 9 })
  })

  it('of one stream has no consecutive numbers', async () => {
    server.script(entries(frame(5), frame(9)), gone)
    expect(await lines({ stream: 'stdout' })).toEqual(['5', '9'])
  })
})

describe('followed events', () => {
  it('read from the disk of the service what its memory dropped', async () => {
    server.script(entries(frame(1), frame(9, { type: 'events.dropped' })), entries(frame(2), frame(3)), gone)
    expect(await numbers()).toEqual([1, 2, 3])
    expect(server.received[1]?.headers['last-event-id']).toBe('1')
  })

  it('are only new ones with a tail of 0, none missed when the connection breaks before the first', async () => {
    server.script(entries(frame(4)), entries(frame(5)), gone)
    expect(await numbers({ tail: 0 })).toEqual([5])
    expect(server.received[0]?.url).toBe('/v1/sandboxes/x/events?tail=1&follow=true')
  })

  it('say which events are lost, also between two programs', async () => {
    server.script(entries(frame(5)), gone)
    await expect(numbers({ since: 2 })).rejects.toMatchObject({ name: 'MissingDataError', from: 3, to: 5 })
    // These ask for no certain beginning.
    for (const options of [{}, { since: 0 }, { since: '2026-01-01T00:00:00Z' }, { since: 2, tail: 1 }]) {
      server.script(entries(frame(5)), gone)
      expect(await numbers(options)).toEqual([5])
    }
  })
})
