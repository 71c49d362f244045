/** Every answer and every forwarded request carries one request id, the visitor's or ours. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { patience } from '../test/edge-under-test.ts'
import { serveEdge } from '../test/serve-edge.ts'

const here = serveEdge()
const UUID = /^[0-9a-f-]{36}$/

const idsOf = (rawHeaders: readonly string[]) =>
  rawHeaders.filter((_value, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'x-request-id')

async function ask(given: Record<string, string>, headers: Record<string, string> = {}) {
  const { rawHeaders, body } = await here.edge.ask(here.port, '/', { headers: { ...headers, ...given } })
  return { ids: idsOf(rawHeaders), body }
}

describe('X-Request-Id', () => {
  it.each(['mine', 'x'.repeat(64), 'a b ~!'])(
    'that a visitor gives (%j) goes inside and comes back, once',
    async (id) => {
      here.answer = (request, response) => {
        response.setHeader('X-Request-Id', ['of the server', 'another'])
        response.end(request.headers['x-request-id'])
      }
      expect(await ask({ 'X-Request-Id': id })).toEqual({ ids: [id], body: id })
    },
  )

  it.each(['x'.repeat(65), 'tab\tbed', ''])(
    'that is not usable (%j), or not there, is replaced by a fresh one',
    async (id) => {
      here.answer = (request, response) => response.end(request.headers['x-request-id'])
      const givens: readonly Record<string, string>[] = [{ 'x-request-id': id }, {}]
      for (const given of givens) {
        const { ids, body } = await ask(given)
        expect(ids).toEqual([body])
        expect(body).toMatch(UUID)
      }
    },
  )

  it('is on what the edge answers itself', async () => {
    for (const host of [here.edge.host(here.port, randomUUID()), 'nowhere.example']) {
      expect((await ask({ 'x-request-id': 'mine' }, { host })).ids).toEqual(['mine'])
    }
    const { rawHeaders } = await here.edge.ask(here.port, '/healthz', { headers: { host: 'localhost' } })
    expect(idsOf(rawHeaders)).toEqual([expect.stringMatching(UUID)])
    expect(await here.edge.raw('NONSENSE\r\n\r\n')).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
  })

  it('is on the pages that the edge shows to browsers, beside what to do, and not in the answers for programs', async () => {
    const shown = `Request id: <code>mi&lt;ne</code>`
    here.edge.agent.onOpen = () => 502
    const fresh = await here.saying('')
    const broken = await here.saying('nonsense')
    const asked: readonly [number, Record<string, string>][] = [
      [here.port, { host: 'nowhere.example' }],
      [here.port, { host: here.edge.host(here.port, randomUUID()) }],
      [fresh, {}],
      [broken, {}],
    ]
    for (const [port, headers] of asked) {
      const ask = async (accept: string) =>
        (await here.edge.ask(port, '/', { headers: { ...headers, accept, 'x-request-id': 'mi<ne' } })).body
      const page = await ask('text/html')
      expect(page).toContain(shown)
      expect(page).toMatch(/<h1>.+<\/h1><p>.+<\/p>/)
      expect(await ask('application/json')).not.toContain('mi')
      here.edge.agent.onOpen = () => (port === fresh ? null : 502)
    }
    here.edge.agent.onOpen = () => null
  })

  it.each([
    ['refuses', 'HTTP/1.1 403 No\r\ncontent-length: 0\r\nx-request-id: theirs\r\n\r\n', 'unexpected-response'],
    [
      'agrees to',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nx-request-id: theirs\r\n\r\n',
      'upgrade',
    ],
  ])('is on the answer of a server that %s an upgrade', async (_what, head, event) => {
    here.server.once('upgrade', (_request, socket) => socket.end(head))
    const socket = new WebSocket(`ws://127.0.0.1:${here.edge.port}/`, {
      headers: { host: here.edge.host(here.port), 'x-request-id': 'mine' },
    })
    socket.on('error', () => undefined)
    const answer = patience('an answer').race(once(socket, event)) as Promise<readonly unknown[]>
    const response = (await answer).at(-1) as IncomingMessage
    expect(idsOf(response.rawHeaders)).toEqual(['mine'])
    socket.terminate()
  })
})
