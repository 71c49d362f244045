import { describe, expect, it } from 'vitest'
import { Deadline, DeadlineExceeded } from './deadline.ts'

describe('Deadline', () => {
  it('gives the result of a promise that settles in time', async () => {
    await expect(Deadline.after(60_000, 'test').race(Promise.resolve(7))).resolves.toBe(7)
    await expect(Deadline.after(60_000, 'test').race(Promise.reject(new Error('mine')))).rejects.toThrow('mine')
  })

  it('hears of the failure of what begins when the time is up already', async () => {
    const unheard: unknown[] = []
    const note = (reason: unknown) => unheard.push(reason)
    process.on('unhandledRejection', note)
    const begun = Promise.withResolvers<never>()
    const cancelled = AbortSignal.abort(new Error('caller left'))
    await expect(Deadline.after(60_000, 'test', cancelled).race(begun.promise)).rejects.toThrow('caller left')
    begun.reject(new Error('too late'))
    // Node reports unhandled rejections after the microtasks of the turn in which they occur.
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(unheard).toEqual([])
  })

  it('rejects with what was waited for once the time is up', async () => {
    const never = new Promise<never>(() => undefined)
    const over = Deadline.after(5, 'the guest')
    await expect(over.race(never)).rejects.toThrow(new DeadlineExceeded('deadline passed: the guest'))
    expect(() => over.throwIfOver()).toThrow(DeadlineExceeded)
    expect(over.remainingMs).toBe(0)
  })

  it('aborts its signal when the time is up', async () => {
    const { signal } = Deadline.after(5, 'the guest')
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    expect(signal.reason).toBeInstanceOf(DeadlineExceeded)
  })

  it('ends early with the reason of the signal that cancelled it', async () => {
    const controller = new AbortController()
    const deadline = Deadline.after(60_000, 'test', controller.signal)
    const raced = deadline.race(new Promise<never>(() => undefined))
    controller.abort(new Error('caller left'))
    await expect(raced).rejects.toThrow('caller left')
    expect(deadline.signal.aborted).toBe(true)
    expect(() => deadline.throwIfOver()).toThrow('caller left')
  })

  it('never lets a step outlast the whole', () => {
    const whole = Deadline.after(1_000, 'whole')
    expect(whole.within(60_000, 'step').remainingMs).toBeLessThanOrEqual(1_000)
  })
})
