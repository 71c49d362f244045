import Fastify from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { OpenStreams } from '../../../platform/http/open-streams.ts'
import { sendLines } from './line-stream.ts'

const entries = [
  { id: '1', text: 'one\n' },
  { id: '2', text: 'two\nthree\nfour\n' },
  { id: '3', text: 'five\n' },
]
const server = Fastify()
let url: string

beforeAll(async () => {
  server.get('/', async (request, reply) =>
    sendLines(request, reply, new OpenStreams(), async (after) => ({
      lines: entries.filter(({ id }) => id > after),
      isOver: true,
    })),
  )
  url = await server.listen()
})
afterAll(() => server.close())

/** The lines and their positions that a client gets who comes back with a position. */
async function read(position?: string): Promise<[line: string, id: string][]> {
  const response = await fetch(url, { headers: position === undefined ? {} : { 'last-event-id': position } })
  const text = await response.text()
  expect(text.endsWith('event: done\ndata: \n\n')).toBe(true)
  return [...text.matchAll(/^id: (.*)\ndata: (.*)$/gm)].map(([, id = '', line = '']) => [line, id])
}

it('a client that comes back after any line gets the next ones, none twice', async () => {
  const all = await read()
  expect(all.map(([line]) => line)).toEqual(['one', 'two', 'three', 'four', 'five'])
  for (const [at, [, position]] of all.entries()) expect(await read(position)).toEqual(all.slice(at + 1))
})

it('a position that is none counts as the beginning', async () => {
  expect(await read('<script>')).toEqual(await read())
})
