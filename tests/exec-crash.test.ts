/** @module-tag long */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type EventStream, openEvents, type ServerEvent } from './setup/event-stream.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'
import { TestSocket } from './setup/web-socket.ts'

/** The agent is killed: how open connections end, and which commands survive. */
let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create()).id
})
afterAll(giveBack)

/** Much longer than it should take, and much shorter than any timeout of the service. */
const SOON_MS = 15_000
const RESTARTING = { code: 1012, reason: 'agent unreachable' }
const LOST = [{ event: 'error', id: undefined, data: { error: 'agent unreachable' } }]

const at = (rest: string) => `/v1/sandboxes/${id}/${rest}`
const stream = async (cmd: string) => openEvents(offshoot, 'POST', at('exec/stream'), { body: { cmd } })
const follow = async (rest: string, headers = {}) => openEvents(offshoot, 'GET', at(rest), { headers })
const terminal = async (query: string) => TestSocket.open(offshoot, at(`exec/pty?${query}`))
const logLines = async () => (await offshoot.request('GET', at('logs'))).text.split('\n')
const count = async (word: string) =>
  Number((await offshoot.exec(id, `ps | grep -c '[${word[0]}]${word.slice(1)}' || true`)).stdout)

async function first(events: EventStream): Promise<ServerEvent> {
  const { value, done } = await events.next()
  if (done) throw new Error('the stream has ended')
  return value
}

/** Waits for the agent that replaces the killed one. */
async function succeeded(pid: number): Promise<void> {
  await until('another agent', async () => {
    const now = await offshoot.service('agent')
    return now !== null && now.pid !== pid
  })
  await offshoot.healthy()
}

/** Reads to the end of the stream. It must end soon after `begin`, and not by a broken connection. */
async function endOf(events: EventStream, begin: Promise<unknown>): Promise<ServerEvent[]> {
  const rest = events.rest()
  await begin
  let isOver = false
  const over = () => (isOver = true)
  rest.then(over, over)
  await until('the stream to end', () => isOver, SOON_MS)
  return rest
}

it('ends every stream cleanly and soon; commands are gone, and what was to stay is there with its output', async () => {
  const started = await offshoot.request('POST', at('exec'), {
    body: { cmd: 'i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo "line $i"; sleep 0.05; done', background: true },
  })
  const exec: string = started.body.exec_id
  const [command, background, events, logs] = await Promise.all([
    stream('echo on; sleep 7501'),
    follow(`execs/${exec}/stream`),
    follow('events?follow=1'),
    follow('logs?follow=1'),
  ])
  const seen = await Promise.all([command, background, events, logs].map(first))
  const commands = await TestSocket.open(offshoot, at('exec/ws'))
  for (const each of ['a', 'b']) commands.send({ id: each, cmd: `echo ${each}; sleep 7502` })
  await until('both to run', () => commands.output('a') + commands.output('b') === 'a\nb\n')
  const own = await terminal(`cmd=${encodeURIComponent('echo own; sleep 7503')}`)
  const session = await terminal('session=one')
  await own.shows('own')
  session.send(Buffer.from('KEPT=yes; echo "ready $((40 + 2))"\n'))
  await session.shows('ready 42')
  const plain = offshoot.request('POST', at('exec'), { body: { cmd: 'sleep 7504' } })
  await until('all to run', async () => (await count('sleep 750')) >= 5)

  const agent = await until('the agent', async () => offshoot.service('agent'))
  const killed = Promise.withResolvers<void>()
  const reading = Promise.all([command, background, events, logs].map(async (each) => endOf(each, killed.promise)))
  // A failure is reported where the promise is awaited.
  reading.catch(() => null)
  process.kill(agent.pid, 'SIGKILL')
  killed.resolve()
  for (const socket of [commands, own, session]) {
    expect(await until('the socket to be closed', () => socket.closed, SOON_MS)).toEqual(RESTARTING)
  }
  const read = await reading
  for (const all of read) expect(all.slice(-1)).toEqual(LOST)
  expect((await plain).status).toBe(502)
  expect((await plain).body.error).toBe('agent unreachable')

  await succeeded(agent.pid)
  await until('no command left of callers that are gone', async () => (await count('sleep 750')) === 0)

  const again = await terminal('session=one')
  await again.shows('ready 42')
  again.send(Buffer.from('echo "still $KEPT"; exit 4\n'))
  await again.shows('still yes')
  await again.hungUp()
  expect(again.frames).toEqual([{ exit: 4 }])

  const wanted = Array.from({ length: 150 }, (_unused, index) => `line ${index + 1}`)
  const last = read[1]?.at(-2)?.id ?? seen[1]?.id ?? ''
  const before = [seen[1], ...(read[1]?.slice(0, -1) ?? [])]
  const after = await (await follow(`execs/${exec}/stream`, { 'last-event-id': last })).rest()
  expect(after.at(-1)?.data.exit_code).toBe(0)
  const text = [...before, ...after.slice(0, -1)].map((event) => event?.data.chunk as string).join('')
  expect(text.trimEnd().split('\n')).toEqual(wanted)
  expect((await logLines()).filter((line) => line.startsWith('line '))).toEqual(wanted)
})

it('ends what flows at full speed too, wherever its last frame was cut', async () => {
  const flood = await stream('yes "$(head -c 3000 /dev/zero | tr "\\0" x)"')
  const commands = await TestSocket.open(offshoot, at('exec/ws'))
  commands.send({ id: 'a', cmd: 'yes' })
  const own = await terminal('cmd=yes')
  await first(flood)
  await until('all to flow', () => commands.frames.length > 100 && own.bytes.length > 100_000)
  const agent = await until('the agent', async () => offshoot.service('agent'))
  let end: string | undefined
  void flood.rest().then(
    () => (end = 'between two frames'),
    (error: Error) => (end = error.message),
  )
  process.kill(agent.pid, 'SIGKILL')
  expect(await until('the stream to end', () => end, SOON_MS)).toMatch(/between two frames|in the middle of a frame/)
  expect(flood.response.complete).toBe(true)
  for (const socket of [commands, own]) {
    const { code } = await until('the socket to be closed', () => socket.closed, SOON_MS)
    // 1006: a frame was incomplete, so a close frame could not follow.
    expect([1006, 1012]).toContain(code)
  }
  await succeeded(agent.pid)
  expect((await offshoot.exec(id, 'echo again')).stdout).toBe('again\n')
})
