import { describe, expect, it } from 'vitest'
import { TooManyWaiting, Turns } from './semaphore.ts'

describe('Turns', () => {
  it('runs so many at once and the others in order of arrival', async () => {
    const turns = new Turns(2, 10)
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
    const started: number[] = []
    const tasks = gates.map(({ promise }, index) =>
      turns.run(async () => {
        started.push(index)
        await promise
      }),
    )
    for (const [index, gate] of gates.entries()) {
      await new Promise((resolve) => setImmediate(resolve)) // whoever has a turn has begun by then
      expect(started).toEqual([0, 1, 2, 3, 4].slice(0, Math.min(5, index + 2)))
      gate.resolve()
      await tasks[index]
    }
  })

  it('gives the place on when a task fails', async () => {
    const turns = new Turns(1, 10)
    await expect(turns.run(() => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
    await expect(turns.run(() => Promise.resolve(7))).resolves.toBe(7)
  })

  it('turns away who would wait behind too many', async () => {
    const turns = new Turns(1, 1)
    const gate = Promise.withResolvers<void>()
    const running = [turns.run(() => gate.promise), turns.run(() => gate.promise)]
    await expect(turns.run(() => gate.promise)).rejects.toThrow(TooManyWaiting)
    gate.resolve()
    await Promise.all(running)
  })

  it('lets one in before all who wait, however many do', async () => {
    const turns = new Turns(1, 1)
    const gate = Promise.withResolvers<void>()
    const order: string[] = []
    const tasks = [
      turns.run(() => gate.promise),
      turns.run(async () => void order.push('waiting')),
      turns.runNext(async () => void order.push('next')),
    ]
    gate.resolve()
    await Promise.all(tasks)
    expect(order).toEqual(['next', 'waiting'])
  })

  it('takes out of the queue who waits no longer, and nobody else', async () => {
    const turns = new Turns(1, 2)
    const gate = Promise.withResolvers<void>()
    const running = turns.run(() => gate.promise)
    const leaving = new AbortController()
    const left = turns.run(() => Promise.reject(new Error('ran')), leaving.signal)
    const stays = turns.run(() => Promise.resolve('stayed'))
    leaving.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    await expect(turns.run(() => Promise.resolve(), leaving.signal)).rejects.toThrow('left')
    gate.resolve()
    expect(await stays).toBe('stayed')
    await running
    expect(turns.isBusy).toBe(false)
  })
})
