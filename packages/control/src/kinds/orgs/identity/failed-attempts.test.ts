import { describe, expect, it } from 'vitest'
import { FAILURES_AT_ONCE, FailedAttempts } from './failed-attempts.ts'

function fail(attempts: FailedAttempts, ip: string, times: number, atMs: number): void {
  for (let i = 0; i < times; i++) attempts.note(ip, atMs)
}

describe('failed attempts', () => {
  it('are spent after so many at once, by that address alone, and come back with time', () => {
    const attempts = new FailedAttempts()
    fail(attempts, '192.0.2.1', FAILURES_AT_ONCE - 1, 0)
    expect(attempts.isSpent('192.0.2.1', 0)).toBe(false)
    fail(attempts, '192.0.2.1', 1, 0)
    expect(attempts.isSpent('192.0.2.1', 0)).toBe(true)
    expect(attempts.isSpent('192.0.2.2', 0)).toBe(false)
    expect(attempts.isSpent('192.0.2.1', 49)).toBe(true)
    expect(attempts.isSpent('192.0.2.1', 50)).toBe(false)
  })

  it('count for the whole /64 of an IPv6 address', () => {
    const attempts = new FailedAttempts()
    fail(attempts, '2001:db8:1:2::7', FAILURES_AT_ONCE, 0)
    expect(attempts.isSpent('2001:db8:1:2:aaaa::1', 0)).toBe(true)
    expect(attempts.isSpent('2001:db8:1:3::7', 0)).toBe(false)
    fail(attempts, '::ffff:192.0.2.1', FAILURES_AT_ONCE, 0)
    expect(attempts.isSpent('::ffff:192.0.2.2', 0)).toBe(false)
  })

  it('are counted together for disconnected callers, whose address is unknown', () => {
    const attempts = new FailedAttempts()
    for (let i = 0; i < FAILURES_AT_ONCE; i++) attempts.note(undefined, 0)
    expect([attempts.isSpent(undefined, 0), attempts.isSpent('192.0.2.1', 0)]).toEqual([true, false])
  })

  it('are forgotten when ten thousand other addresses have failed since', () => {
    const attempts = new FailedAttempts()
    fail(attempts, 'first', FAILURES_AT_ONCE, 0)
    for (let i = 0; i < 10_000; i++) attempts.note(`10.0.${i >> 8}.${i & 255}`, 0)
    expect(attempts.isSpent('first', 0)).toBe(false)
  })
})
