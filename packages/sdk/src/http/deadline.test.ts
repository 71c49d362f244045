import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { delay, startDeadline } from './deadline.ts'
import { TimeoutError } from './errors.ts'
import { waitFor } from './wait.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

it('a deadline aborts when its time is over, unless its clock is stopped', () => {
  const deadline = startDeadline(undefined, 1000, 'the call')
  vi.advanceTimersByTime(1000)
  expect(deadline.signal.reason).toBeInstanceOf(TimeoutError)
  expect(deadline.signal.reason).toMatchObject({ message: 'the call took longer than 1000 ms' })
  const stopped = startDeadline(undefined, 1000, 'the call')
  stopped.stopClock()
  vi.advanceTimersByTime(2000)
  expect(stopped.signal.aborted).toBe(false)
})

it('a deadline aborts with its caller, with the same reason, until it ends', () => {
  const [caller, early] = [new AbortController(), AbortSignal.abort('early')]
  const deadline = startDeadline(caller.signal, 0, 'the call')
  const ended = startDeadline(caller.signal, 0, 'the call')
  ended.end()
  caller.abort('enough')
  expect([deadline.signal.reason, ended.signal.aborted]).toEqual(['enough', false])
  expect(startDeadline(early, 0, 'the call').signal.reason).toBe('early')
})

it('a delay ends early with the reason of its signal', async () => {
  const controller = new AbortController()
  const waiting = delay(1000, controller.signal)
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(delay(1000, controller.signal)).rejects.toThrow('enough')
  const whole = delay(1000)
  vi.advanceTimersByTime(1000)
  await whole
  expect(vi.getTimerCount()).toBe(0)
})

it('a wait looks until there is a result, or its time is over', async () => {
  let looks = 0
  const found = waitFor('the end', {}, async () => (++looks < 3 ? null : 'found'))
  await vi.runAllTimersAsync()
  expect([await found, looks]).toEqual(['found', 3])
  const never = waitFor('the end', { timeoutMs: 5000 }, async () => null)
  never.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(6000)
  await expect(never).rejects.toThrow('the end took longer than 5000 ms')
  await expect(waitFor('x', { signal: AbortSignal.abort(new Error('enough')) }, async () => 1)).rejects.toThrow(
    'enough',
  )
})
