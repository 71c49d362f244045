import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FakeAgent } from '../../../test/fake-agent.ts'
import { call, eventually, Harness, type RunningControl } from '../../../test/harness.ts'

/** More lines than one answer contains. */
const LINES = 12_000

let harness: Harness
let agent: FakeAgent
let control: RunningControl

beforeAll(async () => {
  agent = await FakeAgent.start()
  harness = await Harness.start()
  control = await harness.control([agent])
})

afterAll(async () => {
  await harness.stop()
  await agent.kill()
})

/** A line of a log in the format of an agent's event. */
function frame(n: number): string {
  const line = { ts: new Date(n).toISOString(), stream: 'stdout', line: `line ${n}`, source: 'exec:app' }
  return `id: ${n}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`
}

function frames(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, at) => frame(from + at)).join('')
}

/** An app with a version that serves from a sandbox of the agent. */
async function servedApp(): Promise<{ token: string; path: string; sandboxId: string }> {
  const { key: token } = await harness.tenant(control, `follower-${randomUUID().slice(0, 8)}`)
  const app = await call(control.url, 'POST', '/v1/apps', {
    token,
    body: { name: 'app', git_url: 'https://x.example/y' },
  })
  const sandbox = await call(control.url, 'POST', '/v1/sandboxes', { token, body: { template: 'base' } })
  const deploymentId = randomUUID()
  await harness.pool.query(
    `insert into app_deployments (id, app_id, status, git_ref, origin_id, sandbox_id, port, was_live, finished_at, creator)
     values ($1, $2, 'live', 'main', $1, $3, 3000, true, now(), $4)`,
    [deploymentId, app.body.id, sandbox.body.id, control.control.lock.number],
  )
  await harness.pool.query('update apps set active_deployment_id = $2 where id = $1', [app.body.id, deploymentId])
  return { token, path: `/v1/apps/${app.body.id}/runtime-logs?follow=1`, sandboxId: sandbox.body.id }
}

it('a follower gets every line of a long log once, over one stream of the agent, which goes on where it broke', async () => {
  const { token, path } = await servedApp()
  const streams: { cursor: string | undefined; response: ServerResponse }[] = []
  agent.onOperation = ({ headers, url = '' }, response) => {
    if (!url.endsWith('/logs?follow=1')) return false
    const cursor = headers['last-event-id'] as string | undefined
    streams.push({ cursor, response })
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frames(Number(cursor ?? 0) + 1, LINES))
    return true
  }
  const hangUp = new AbortController()
  const answer = await fetch(control.url + path, {
    headers: { authorization: `Bearer ${token}` },
    signal: hangUp.signal,
  })
  const got: string[] = []
  const reading = (async () => {
    for await (const events of readServerSentEvents(answer.body as AsyncIterable<Uint8Array>))
      got.push(...events.map(({ data }) => data))
  })().catch(() => undefined)
  await eventually(() => got.length === LINES)
  streams[0]?.response.write(frames(LINES + 1, LINES + 1))
  await eventually(() => got.length === LINES + 1)
  expect(streams.map(({ cursor }) => cursor)).toEqual([undefined])
  streams[0]?.response.destroy()
  await eventually(() => streams.length === 2)
  streams[1]?.response.write(frames(LINES + 2, LINES + 2))
  await eventually(() => got.length === LINES + 2)
  expect(streams[1]?.cursor).toBe(String(LINES + 1))
  expect(got).toEqual(Array.from({ length: LINES + 2 }, (_, at) => `line ${at + 1}`))
  hangUp.abort()
  await reading
  await eventually(() => streams[1]?.response.destroyed)
})

it('a follower that comes back gets what it missed, also after old lines were dropped or another version serves', async () => {
  const { token, path, sandboxId } = await servedApp()
  const asked: string[] = []
  agent.onOperation = ({ headers, url = '' }, response) => {
    if (!url.endsWith('/logs?follow=1')) return false
    asked.push(String(headers['last-event-id']))
    // The agent has dropped the first 40 lines.
    const first = Math.max(Number(headers['last-event-id'] ?? 0), 40) + 1
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(frames(first, 50))
    return true
  }
  const follow = async (position: string, wanted: number) => {
    const hangUp = new AbortController()
    const { body } = await fetch(control.url + path, {
      headers: { authorization: `Bearer ${token}`, 'last-event-id': position },
      signal: hangUp.signal,
    })
    const got: { data: string; id: string | null }[] = []
    for await (const events of readServerSentEvents(body as AsyncIterable<Uint8Array>)) {
      got.push(...events)
      if (got.length >= wanted) break
    }
    hangUp.abort()
    return got.map(({ data, id }) => [data, id])
  }
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => [`line ${from + at}`, `${sandboxId}=${from + at}`])
  expect(await follow('', 10)).toEqual(lines(41, 50))
  expect(await follow(`${sandboxId}=48`, 2)).toEqual(lines(49, 50))
  const former = randomUUID()
  const after = await follow(`${former}=48`, 10)
  expect(after.map(([data]) => data)).toEqual(lines(41, 50).map(([data]) => data))
  expect(after.at(-1)?.[1]).toBe(`${former}=48,${sandboxId}=50`)
  expect(asked).toEqual(['undefined', '48', 'undefined'])
})
