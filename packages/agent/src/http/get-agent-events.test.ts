import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentId, SandboxId } from '@offshoot/contract/ids'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Agent } from '../sandbox/agent.ts'
import { EventLog } from '../store/events/event-log.ts'
import { getAgentEvents } from './get-agent-events.ts'

const LONG = 'x'.repeat(4000)
const sandboxId = randomUUID() as SandboxId

let folder: string
let log: EventLog
let server: FastifyInstance
let url: string
let stop: AbortController

/** The real route on an event log. A request with an `x-edge` header counts as one of the edge. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-events-'))
  log = await EventLog.open(folder, randomUUID() as AgentId)
  stop = new AbortController()
  server = Fastify({ forceCloseConnections: true })
  server.decorateRequest('caller')
  server.addHook('onRequest', async (request) => {
    request.caller = { workspaceId: null, isEdge: 'x-edge' in request.headers }
  })
  // Only the fields that the route uses.
  getAgentEvents(server, { host: { store: { events: log } }, stopping: stop.signal } as unknown as Agent)
  url = await server.listen({ port: 0, host: '127.0.0.1' })
})

afterEach(async () => {
  stop.abort()
  await server.close()
  await log.close()
  await rm(folder, { recursive: true, force: true })
})

async function append(count: number): Promise<void> {
  const draft = { type: 'sandbox.paused', sandboxId, workspaceId: null, message: LONG, metadata: {} } as const
  for (let at = 0; at < count; at += 256) await Promise.all(Array.from({ length: 256 }, () => log.append(draft)))
}

/** The number of the last record before the stream ends. */
async function readToEnd(after: number): Promise<number> {
  const text = await (await fetch(`${url}/v1/agent/events?after=${after}`)).text()
  return Number([...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1])
}

async function connect(after: number, headers: Record<string, string>): Promise<void> {
  const leave = new AbortController()
  await fetch(`${url}/v1/agent/events?after=${after}`, { headers, signal: leave.signal })
  leave.abort()
}

it(
  'ends the stream of control now and then, so that control acknowledges what it has stored',
  { tags: ['faults'] },
  async () => {
    await append(8192)
    let cursor = 0
    for (const seen = new Set<number>(); cursor < 6000; cursor = await readToEnd(cursor)) {
      expect(seen).not.toContain(cursor)
      seen.add(cursor)
    }
  },
)

it.each([
  ['control', {}, true],
  ['the edge', { 'x-edge': '1' }, false],
])('records that %s has read may be removed: %o, %s', async (_who, headers, isRemoved) => {
  const [oldest = ''] = await readdir(folder)
  await append(8192)
  await connect(log.lastSeq, headers)
  await append(8192)
  expect(!(await readdir(folder)).includes(oldest)).toBe(isRemoved)
})
