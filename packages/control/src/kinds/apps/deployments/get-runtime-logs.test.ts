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

async function makeApp(): Promise<{ token: string; appId: string }> {
  const { key: token } = await harness.tenant(control, `follower-${randomUUID().slice(0, 8)}`)
  const body = { name: 'app', git_url: 'https://x.example/y' }
  const app = await call(control.url, 'POST', '/v1/apps', { token, body })
  return { token, appId: app.body.id }
}

/** Makes a version live. It serves from a new sandbox, or takes one over as a rollback does. */
async function goLive(token: string, appId: string, kept?: string): Promise<string> {
  const body = { template: 'base' }
  const sandboxId = kept ?? (await call(control.url, 'POST', '/v1/sandboxes', { token, body })).body.id
  const deploymentId = randomUUID()
  await harness.pool.query('update app_deployments set sandbox_id = null where sandbox_id = $1', [sandboxId])
  await harness.pool.query(`update app_deployments set status = 'superseded' where app_id = $1`, [appId])
  await harness.pool.query(
    `insert into app_deployments (id, app_id, status, git_ref, origin_id, sandbox_id, port, was_live, finished_at, creator)
     values ($1, $2, 'live', 'main', $1, $3, 3000, true, now(), $4)`,
    [deploymentId, appId, sandboxId, control.control.lock.number],
  )
  await harness.pool.query('update apps set active_deployment_id = $2 where id = $1', [appId, deploymentId])
  return sandboxId
}

/** An app with a version that serves from a sandbox of the agent. */
async function servedApp(): Promise<{ token: string; path: string; sandboxId: string }> {
  const { token, appId } = await makeApp()
  const sandboxId = await goLive(token, appId)
  return { token, path: `/v1/apps/${appId}/runtime-logs?follow=1`, sandboxId }
}

it(
  'a follower gets every line of a long log once, over one stream of the agent, which goes on where it broke',
  { tags: ['faults'] },
  async () => {
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
  },
)

it('a follower that comes back gets what it missed, also after old lines were dropped', async () => {
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
    Array.from({ length: to - from + 1 }, (_, at) => [`line ${from + at}`, `1,${sandboxId}=${from + at}`])
  expect(await follow('', 10)).toEqual(lines(41, 50))
  expect(await follow(`1,${sandboxId}=48`, 2)).toEqual(lines(49, 50))
  expect(asked).toEqual(['undefined', '48'])
})

it('a follower that comes back after changes of the version gets what each version said meanwhile, and nothing twice', async () => {
  const { token, appId } = await makeApp()
  const said = new Map<string, string[]>()
  /** Lets the version of a sandbox say something. */
  const say = (sandboxId: string, ...words: string[]) => said.set(sandboxId, [...(said.get(sandboxId) ?? []), ...words])
  agent.onOperation = ({ headers, url = '' }, response) => {
    const [, sandboxId = ''] = /sandboxes\/([^/]+)\/logs\?follow=1$/.exec(url) ?? []
    const begin = Number(headers['last-event-id'] ?? 0)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let sent = begin
    const send = () => {
      for (const words of (said.get(sandboxId) ?? []).slice(sent)) {
        sent += 1
        const line = { ts: new Date().toISOString(), stream: 'stdout', line: words, source: 'exec:app' }
        response.write(`id: ${sent}\nevent: line\ndata: ${JSON.stringify(line)}\n\n`)
      }
    }
    const timer = setInterval(send, 20)
    response.on('close', () => clearInterval(timer))
    return true
  }
  const got: string[] = []
  let last: string | null = null
  /** Follows until it has got so many lines. */
  const follow = async (count: number, meanwhile = async () => {}) => {
    const hangUp = new AbortController()
    const headers = { authorization: `Bearer ${token}`, ...(last !== null && { 'last-event-id': last }) }
    const url = `${control.url}/v1/apps/${appId}/runtime-logs?follow=1`
    const answer = await fetch(url, { headers, signal: hangUp.signal })
    const reading = (async () => {
      for await (const events of readServerSentEvents(answer.body as AsyncIterable<Uint8Array>))
        for (const { id, data } of events) {
          got.push(data)
          last = id ?? last
        }
    })().catch(() => undefined)
    await meanwhile()
    await eventually(() => got.length >= count)
    hangUp.abort()
    await reading
  }
  const first = await goLive(token, appId)
  say(first, 'one 1', 'one 2', 'one 3')
  await follow(3)
  say(first, 'one 4')
  const second = await goLive(token, appId)
  say(second, 'two 1', 'two 2')
  const third = await goLive(token, appId)
  say(third, 'three 1')
  await follow(7)
  expect(got.toSorted()).toEqual(['one 1', 'one 2', 'one 3', 'one 4', 'three 1', 'two 1', 'two 2'])
  // The old version finishes its answers after the change, and a rollback wakes it later.
  got.length = 0
  await follow(4, async () => {
    say(third, 'three 2')
    const fourth = await goLive(token, appId)
    say(third, 'three 3')
    say(fourth, 'four 1')
    await eventually(() => got.length === 3)
    await goLive(token, appId, first)
    say(first, 'one 5')
  })
  expect(got.toSorted()).toEqual(['four 1', 'one 5', 'three 2', 'three 3'])
  got.length = 0
  await harness.pool.query('update app_deployments set sandbox_id = null where sandbox_id = $1', [third])
  say(first, 'one 6')
  await follow(2)
  expect(got).toEqual(['==> an instance ended while nobody followed: its last lines may be missing', 'one 6'])
})
