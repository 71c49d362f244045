/** @module-tag long */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type EventStream, openEvents, type ServerEvent } from './setup/event-stream.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'

let offshoot: Offshoot
beforeAll(async () => {
  offshoot = await borrow()
})
afterAll(giveBack)

/** Maximum events per connection before the reader disconnects and reconnects. */
const MOST_AT_ONCE = 9
/** Events to read before each kill, and after the last one. */
const BETWEEN_KILLS = 60

/** A reader that reconnects after its last event, alternately with `Last-Event-ID` and with `since`. */
class ComingBack {
  readonly seen: ServerEvent[] = []
  readonly #path: string
  #stream: EventStream | undefined
  #connections = 0
  #isStopped = false

  constructor(id: string) {
    this.#path = `/v1/sandboxes/${id}/events?follow=1`
  }

  /** Reads until {@link stop}; reconnects after a refused or broken connection. */
  async read(): Promise<void> {
    while (!this.#isStopped) await this.#connect().catch(() => undefined)
  }

  stop(): void {
    this.#isStopped = true
    this.#stream?.close()
  }

  async #connect(): Promise<void> {
    const last = this.seen.at(-1)?.id ?? '0'
    const most = 1 + (this.#connections++ % MOST_AT_ONCE)
    this.#stream = await (this.#connections % 2 === 0
      ? openEvents(offshoot, 'GET', this.#path, { headers: { 'last-event-id': last } })
      : openEvents(offshoot, 'GET', `${this.#path}&since=${last}`))
    let left = this.#isStopped ? 0 : most
    while (left-- > 0) {
      const { value, done } = await this.#stream.next()
      // The stream's last event after it has lost its agent.
      if (done || value.event === 'error') break
      this.seen.push(value)
    }
    this.#stream.close()
  }
}

/** Pauses and resumes until the signal, and ignores failures while a service is away. */
async function keepChanging(id: string, { signal }: AbortController): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    const change = i % 2 === 0 ? 'pause' : 'resume'
    await offshoot.request('POST', `/v1/sandboxes/${id}/${change}`).catch(() => undefined)
  }
}

it('gives a reader that comes back every event once, under constant changes and over killed services', async () => {
  const { id } = await offshoot.create()
  const [reader, end] = [new ComingBack(id), new AbortController()]
  const [reading, changing] = [reader.read(), keepChanging(id, end)]
  const more = async () => {
    const wanted = reader.seen.length + BETWEEN_KILLS
    await until('more events', () => reader.seen.length >= wanted)
  }
  try {
    for (const service of ['agent', 'control'] as const) {
      await more()
      await offshoot.killService(service)
    }
    await more()
  } finally {
    end.abort()
    await changing
  }
  const { body: kept } = await offshoot.request('GET', `/v1/sandboxes/${id}/events?since=0`)
  await until('the last event', () => reader.seen.length >= kept.length)
  reader.stop()
  await reading
  expect(reader.seen.map((event) => [event.event, event.id])).toEqual(
    kept.map((_event: unknown, i: number) => ['ev', String(i + 1)]),
  )
  expect(reader.seen.map(({ data }) => data)).toEqual(kept)
  await offshoot.delete(id)
})
