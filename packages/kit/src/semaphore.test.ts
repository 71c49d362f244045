import { describe, expect, it } from 'vitest'
import { TooManyWaiting, Semaphore } from './semaphore.ts'

describe('Semaphore', () => {
  it('runs so many at once and the others in order of arrival', async () => {
    const semaphore = new Semaphore(2, 10)
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
    const started: number[] = []
    const tasks = gates.map(({ promise }, index) =>
      semaphore.run(async () => {
        started.push(index)
        await promise
      }),
    )
    for (const [index, gate] of gates.entries()) {
      await new Promise((resolve) => setImmediate(resolve)) // by now, every task that has a permit has begun
      expect(started).toEqual([0, 1, 2, 3, 4].slice(0, Math.min(5, index + 2)))
      gate.resolve()
      await tasks[index]
    }
  })

  it('gives the place on when a task fails', async () => {
    const semaphore = new Semaphore(1, 10)
    await expect(semaphore.run(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
    await expect(semaphore.run(() => Promise.resolve(7))).resolves.toBe(7)
  })

  it('rejects a task when too many already wait', async () => {
    const semaphore = new Semaphore(1, 1)
    const gate = Promise.withResolvers<void>()
    const running = [semaphore.run(() => gate.promise), semaphore.run(() => gate.promise)]
    await expect(semaphore.run(() => gate.promise)).rejects.toThrow(TooManyWaiting)
    gate.resolve()
    await Promise.all(running)
  })

  it('lets one in before all who wait, however many do', async () => {
    const semaphore = new Semaphore(1, 1)
    const gate = Promise.withResolvers<void>()
    const order: string[] = []
    const tasks = [
      semaphore.run(() => gate.promise),
      semaphore.run(async () => void order.push('waiting')),
      semaphore.runNext(async () => void order.push('next')),
    ]
    gate.resolve()
    await Promise.all(tasks)
    expect(order).toEqual(['next', 'waiting'])
  })

  it('removes an aborted waiter from the queue, and keeps the others', async () => {
    const semaphore = new Semaphore(1, 2)
    const gate = Promise.withResolvers<void>()
    const running = semaphore.run(() => gate.promise)
    const leaving = new AbortController()
    const left = semaphore.run(() => Promise.reject(new Error('ran')), leaving.signal)
    const stays = semaphore.run(() => Promise.resolve('stayed'))
    leaving.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    await expect(semaphore.run(() => Promise.resolve(), leaving.signal)).rejects.toThrow('left')
    gate.resolve()
    expect(await stays).toBe('stayed')
    await running
    expect(semaphore.isBusy).toBe(false)
  })
})
