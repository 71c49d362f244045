import { Writable } from 'node:stream'
import type { Change } from '@offshoot/contract/change'
import { expect, it } from 'vitest'
import { ChangeStream } from './change-stream.ts'

/** A reader that takes one write at a time, when it is told to. */
class SlowReader extends Writable {
  readonly received: string[] = []
  #taken: (() => void) | null = null

  constructor() {
    super({ highWaterMark: 1, decodeStrings: false })
  }

  override _write(text: string, _encoding: BufferEncoding, taken: () => void): void {
    this.received.push(text)
    this.#taken = taken
  }

  /** Resolves when what waited was written. */
  async take(): Promise<void> {
    this.#taken?.()
    await new Promise(setImmediate)
  }
}

const sandboxes = (...ids: (string | number)[]): Change[] => ids.map((id) => ({ kind: 'sandbox', id: String(id) }))
const frameOf = (id: string) => `event: change\ndata: {"kind":"sandbox","id":"${id}"}\n\n`
const CONNECTED = 'event: connected\ndata: {}\n\n'
const MISSED = 'event: missed\ndata: {}\n\n'

it('sends changes of the same object once to a reader that takes nothing for a while', async () => {
  const reader = new SlowReader()
  const stream = new ChangeStream(reader)
  stream.changed(sandboxes('a', 'b'))
  stream.changed(sandboxes('a'))
  stream.beat()
  expect(reader.received).toEqual([CONNECTED])
  await reader.take()
  await reader.take()
  stream.changed(sandboxes('a'))
  expect(reader.received).toEqual([CONNECTED, frameOf('a') + frameOf('b'), frameOf('a')])
})

it('tells a reader that is far behind to read everything, and goes on', async () => {
  const reader = new SlowReader()
  const stream = new ChangeStream(reader)
  stream.changed(sandboxes(...Array(1_001).keys()))
  stream.changed(sandboxes('later'))
  await reader.take()
  await reader.take()
  stream.changed(sandboxes('next'))
  expect(reader.received).toEqual([CONNECTED, MISSED, frameOf('next')])
})

it('says once that changes were missed, and writes nothing after the end', async () => {
  const reader = new SlowReader()
  const stream = new ChangeStream(reader)
  stream.changed(sandboxes('a'))
  stream.missed()
  stream.missed()
  await reader.take()
  await reader.take()
  reader.destroy()
  stream.changed(sandboxes('b'))
  stream.beat()
  expect(reader.received).toEqual([CONNECTED, MISSED])
})
