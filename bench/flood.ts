/**
 * `flood.ts KIND TARGET`: one tenant's flood, as a process of its own so that it can run at a lower priority. Writes a
 * line once the load is on, and ends with its parent.
 */
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export type FloodKind = 'queries' | 'execs' | 'bodies' | 'lists' | 'streams'

/** Objects of the tenant that floods. */
export interface Target {
  readonly url: string
  readonly key: string
  readonly sandboxId: string
  readonly brokerUrl: string
  readonly brokerToken: string
}

interface Sent {
  readonly method: string
  readonly url: string
  readonly token: string
  readonly body?: unknown
}

/** Milliseconds after which a refused request is sent again. */
const AFTER_REFUSAL_MS = 1_000

const agent = new Agent({ keepAlive: true })
let asked = 0

/** @returns the status; 0 if the connection broke */
function ask({ method, url, token, body }: Sent): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${token}`,
    ...(text !== undefined && { 'content-type': 'application/json' }),
  }
  const sent = request(url, { method, agent, headers }, (answer) => {
    answer.resume()
    answer.once('close', () => resolve(answer.statusCode ?? 0))
  })
  sent.once('error', () => resolve(0))
  sent.end(text)
  asked += 1
  return promise
}

/** Keeps `atOnce` requests running. */
function repeat(atOnce: number, what: Sent): void {
  for (let i = 0; i < atOnce; i += 1) void again(what)
}

async function again(what: Sent): Promise<never> {
  for (;;) {
    const status = await ask(what)
    if (status !== 200) await delay(AFTER_REFUSAL_MS)
  }
}

/** Keeps connections open on which the request or its answer stands still. */
function hang(atOnce: number, { hostname, port }: URL, head: string): void {
  for (let i = 0; i < atOnce; i += 1) void hangAgain(hostname, Number(port), head)
}

async function hangAgain(hostname: string, port: number, head: string): Promise<never> {
  for (;;) {
    const socket = connect(port, hostname)
    socket.on('error', () => undefined)
    // Without a listener for "data" the socket is never read.
    socket.once('connect', () => socket.write(head))
    asked += 1
    await new Promise((resolve) => socket.once('close', resolve))
    await delay(AFTER_REFUSAL_MS)
  }
}

const FLOODS: Record<FloodKind, (target: Target) => void> = {
  queries: ({ brokerUrl, brokerToken: token }) =>
    repeat(2_000, { method: 'POST', url: `${brokerUrl}/v1/query`, token, body: { sql: 'select pg_sleep(1)' } }),
  execs: ({ url, key: token, sandboxId }) =>
    repeat(200, { method: 'POST', url: `${url}/v1/sandboxes/${sandboxId}/exec`, token, body: { cmd: 'true' } }),
  bodies: ({ url, key }) =>
    hang(
      1_000,
      new URL(url),
      `POST /v1/sandboxes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
        'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"template":',
    ),
  lists: ({ url, key: token }) => repeat(100, { method: 'GET', url: `${url}/v1/sandboxes`, token }),
  streams: ({ url, key, sandboxId }) =>
    hang(
      1_000,
      new URL(url),
      `GET /v1/sandboxes/${sandboxId}/events?follow=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`,
    ),
}

const [kind = '', target = ''] = process.argv.slice(2)
process.once('disconnect', () => process.exit())
FLOODS[kind as FloodKind](JSON.parse(target) as Target)
await delay(1_000)
process.send?.('on')
process.on('message', () => process.send?.(asked))
