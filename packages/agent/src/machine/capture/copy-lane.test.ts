import { Deadline } from '@offshoot/kit/deadline'
import { describe, expect, it } from 'vitest'
import { CopyLane } from './copy-lane.ts'

const deadline = () => Deadline.after(60_000, 'test')
const ask = () => Promise.reject(new Error('nothing is asked'))
const turnOfEventLoop = () => new Promise((resolve) => setImmediate(resolve))

describe('a copy lane', () => {
  it('starts a capture after the previous one has ended or failed', async () => {
    const lane = new CopyLane({ ask, idle: () => Promise.resolve() })
    const order: string[] = []
    const first = Promise.withResolvers<void>()
    const failing = lane.use(async () => {
      order.push('first begins')
      await first.promise
      throw new Error('failed')
    }, deadline())
    const second = lane.use(async () => order.push('second begins'), deadline())
    await turnOfEventLoop()
    expect(order).toEqual(['first begins'])
    first.resolve()
    await expect(failing).rejects.toThrow('failed')
    await second
    expect(order).toEqual(['first begins', 'second begins'])
  })

  it('starts no capture while the thread still copies for a cancelled one', async () => {
    const copying = Promise.withResolvers<void>()
    const lane = new CopyLane({ ask, idle: () => copying.promise })
    let hasBegun = false
    const next = lane.use(async () => (hasBegun = true), deadline())
    await turnOfEventLoop()
    expect(hasBegun).toBe(false)
    copying.resolve()
    expect(await next).toBe(true)
  })

  it('removes a waiting capture that is cancelled', async () => {
    const lane = new CopyLane({ ask, idle: () => Promise.resolve() })
    const first = Promise.withResolvers<void>()
    const running = lane.use(() => first.promise, deadline())
    const cancelled = new AbortController()
    const waiting = lane.use(async () => 'second', Deadline.after(60_000, 'test', cancelled.signal))
    const last = lane.use(async () => 'last', deadline())
    cancelled.abort(new Error('given up'))
    await expect(waiting).rejects.toThrow('given up')
    first.resolve()
    await running
    expect(await last).toBe('last')
  })
})
