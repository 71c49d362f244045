import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent as HttpAgent, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentRecord } from '@offshoot/contract/agent-api'
import type { Event } from '@offshoot/contract/event'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import Fastify, { type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Agent } from '../sandbox/agent.ts'
import { SandboxEvents } from '../store/events/sandbox-events.ts'
import { getEvents } from './get-events.ts'

const id = randomUUID() as SandboxId
const workspaceId = randomUUID() as WorkspaceId

let folder: string
let server: FastifyInstance
let events: SandboxEvents
let responses: ServerResponse[]

/** The real route on a sandbox that has only events. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'get-events-'))
  events = new SandboxEvents(folder, pino({ level: 'silent' }))
  responses = []
  server = Fastify({ forceCloseConnections: true })
  server.decorateRequest('caller')
  server.addHook('onRequest', async (request, reply) => {
    request.caller = { workspaceId }
    responses.push(reply.raw)
  })
  // Only the fields that the route uses.
  const sandboxes = new Map([[id, { id, workspaceId, events }]])
  getEvents(server, { id: 'agent', host: { sandboxes }, stopping: new AbortController().signal } as unknown as Agent)
  await server.listen({ port: 0, host: '127.0.0.1' })
})

afterEach(async () => {
  await server.close()
  await events.close()
  await rm(folder, { recursive: true, force: true })
})

const connections = new HttpAgent({ maxSockets: Infinity })

async function open(query: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const { port } = server.server.address() as AddressInfo
  const request = get({ port, path: `/v1/sandboxes/${id}/events?follow=1${query}`, headers, agent: connections })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

let number = 0
beforeEach(() => {
  number = 0
})

/** Writes events in batches, as the agent does, and lets readers run between batches. */
async function write(count: number, atOnce: number, message = ''): Promise<void> {
  for (let left = count; left > 0; left -= atOnce) {
    for (let added = Math.min(atOnce, left); added > 0; added--) {
      number += 1
      const ts = new Date(1_700_000_000_000 + number).toISOString()
      const event: Event = {
        ts,
        sandbox_id: id,
        agent_id: 'agent',
        type: 'sandbox.paused',
        code: 'ok',
        message,
        metadata: { number },
      }
      events.add({ seq: number, number, workspace_id: workspaceId, event } satisfies AgentRecord)
    }
    await new Promise(setImmediate)
  }
}

async function* read(response: IncomingMessage): AsyncGenerator<{ id: string | undefined; event: Event }> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const frames = (text + chunk).split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame)?.[1]
      if (data !== undefined) yield { id: /^id: (.*)$/m.exec(frame)?.[1], event: JSON.parse(data) as Event }
    }
  }
}

const range = (to: number) => Array.from({ length: to }, (_unused, index) => index + 1)

const moment = (after: number) => new Date(1_700_000_000_000 + after).toISOString()
const numberOf = ({ metadata }: Event) => metadata['number'] as number

it.each([
  ['Last-Event-ID', (last: Event | null) => open('&tail=1', { 'last-event-id': last ? `${numberOf(last)}` : '0' })],
  ['a number', (last: Event | null) => open(`&since=${last ? numberOf(last) : 0}`)],
  ['a timestamp', (last: Event | null) => open(`&since=${last?.ts ?? '2000-01-01T00:00:00Z'}`)],
])(
  'gives a reader that reconnects with %s each event exactly once, under constant writes',
  { tags: ['long'] },
  async (_how, goOn) => {
    const total = 6000
    const seen: number[] = []
    const reader = (async () => {
      for (let last: Event | null = null; seen.length < total;) {
        const response = await goOn(last)
        let patience = 1 + ((seen.length * 7) % 400)
        for await (const { event } of read(response)) {
          // Reconnect to get the dropped events.
          if (event.type === 'events.dropped') break
          last = event
          seen.push(numberOf(event))
          patience -= 1
          if (patience === 0 || seen.length === total) break
        }
        response.destroy()
      }
    })()
    await write(total, 3)
    await reader
    expect(seen).toEqual(range(total))
  },
)

it('starts where tail and since say, in every combination, and continues without gap or repeat', async () => {
  await write(600, 100)
  const stop = new AbortController()
  // The writer stays close enough to the slowest reader that no event is dropped.
  let limit = number
  const writing = (async () => {
    while (!stop.signal.aborted) {
      if (number < limit) await write(2, 2)
      else await new Promise(setImmediate)
    }
  })()
  for (let round = 0; round < 4; round++) {
    for (const tail of [undefined, 0, 1, 100, 511]) {
      const at = number
      limit = at + 200
      const also = tail === undefined ? '' : `&tail=${tail}`
      const begin = (since: number) => (tail === undefined ? since + 1 : Math.max(since + 1, at - tail + 1))
      const readers = await Promise.all([
        follower(`&tail=${tail ?? 512}`, Math.max(1, at - (tail ?? 512) + 1)),
        follower(`&since=${at - 50}${also}`, begin(at - 50)),
        follower(`&since=${moment(at - 30)}${also}`, begin(at - 30)),
        follower(`&since=0${also}`, at - 69, { 'last-event-id': String(at - 70) }),
      ])
      const wanted = number + 100
      limit = wanted
      const all = await Promise.all(
        readers.map(async (reader) => ({ ...reader, numbers: await numbersTo(reader, wanted) })),
      )
      for (const { query, begin: earliest, numbers } of all) {
        const first = numbers[0] ?? Number.NaN
        expect({ query, numbers }).toEqual({ query, numbers: numbers.map((_each, index) => first + index) })
        // The server applies `tail` when it reads the request: events written before that only move the start forward.
        expect(first).toBeGreaterThanOrEqual(earliest)
        if (!query.includes('tail')) expect(first).toBe(earliest)
      }
    }
  }
  stop.abort()
  await writing
})

async function numbersTo({ response }: { response: IncomingMessage }, wanted: number): Promise<number[]> {
  const numbers: number[] = []
  for await (const { event } of read(response)) {
    if (numbers.push(numberOf(event)) > 1 && numberOf(event) >= wanted) break
  }
  return numbers
}

async function follower(query: string, begin: number, headers: Record<string, string> = {}) {
  return { query, begin, response: await open(query, headers) }
}

it('delivers every event to a thousand followers', { tags: ['long'] }, async () => {
  const total = 200
  const followers = await Promise.all(range(1000).map(() => open('&tail=0')))
  const read = followers.map(async (response) => (await readNumbers(response)).length)
  for (let at = 0; at < total; at += 10) await write(10, 10)
  await events.close()
  expect(new Set(await Promise.all(read))).toEqual(new Set([total]))
})

async function readNumbers(response: IncomingMessage): Promise<number[]> {
  const numbers: number[] = []
  for await (const { event } of read(response)) numbers.push(numberOf(event))
  expect(numbers).toEqual(range(numbers.length))
  return numbers
}

it(
  'buffers little for a reader that does not read, and reports how many events it missed',
  { tags: ['faults'] },
  async () => {
    const slow = await open('&tail=0')
    slow.pause()
    const fast: number[] = []
    const fastResponse = await open('&tail=0')
    const reading = (async () => {
      for await (const { event } of read(fastResponse)) fast.push(numberOf(event))
    })()
    while (number < 40_000) {
      await write(100, 100, 'x'.repeat(500))
      while (number - fast.length > 300) await new Promise(setImmediate)
    }
    expect(responses[0]?.writableLength).toBeLessThan(1024 * 1024)
    await events.close()
    await reading
    expect(fast).toEqual(range(40_000))
    let expected = 1
    let dropped = 0
    for await (const { id, event } of read(slow)) {
      if (event.type === 'events.dropped') {
        expect([id, event.code]).toEqual([undefined, 'warn'])
        dropped += Number(event.metadata['dropped'])
        expected += Number(event.metadata['dropped'])
      } else {
        expect([id, event.metadata['number']]).toEqual([String(expected), expected])
        expected += 1
      }
    }
    expect(expected).toBe(40_001)
    expect(dropped).toBeGreaterThan(0)
  },
)
