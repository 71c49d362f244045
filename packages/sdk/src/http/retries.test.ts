import { describe, expect, it } from 'vitest'
import { mayRetryConnection, mayRetryStatus, retryDelayMs } from './retries.ts'

const safe = { isIdempotent: true, hasLastingBody: true }
const failed = (code: string) => Object.assign(new TypeError('fetch failed'), { cause: { code } })
const unsafe = { isIdempotent: false, hasLastingBody: true }

describe('retries', () => {
  it.each([429, 500, 502, 503, 507])('repeat a safe request after %i', (status) => {
    expect(mayRetryStatus(status, safe)).toBe(true)
    expect(mayRetryStatus(status, { ...safe, hasLastingBody: false })).toBe(false)
    // A limit refuses before anything has happened.
    expect(mayRetryStatus(status, unsafe)).toBe(status === 429)
  })

  it.each([400, 401, 402, 403, 404, 409, 501, 504])('do not repeat anything after %i', (status) => {
    expect(mayRetryStatus(status, safe)).toBe(false)
  })

  it('repeat an unsafe request only if the connection was refused', () => {
    expect(mayRetryConnection(failed('ECONNRESET'), safe)).toBe(true)
    expect(mayRetryConnection(failed('ECONNRESET'), unsafe)).toBe(false)
    expect(mayRetryConnection(failed('ECONNREFUSED'), unsafe)).toBe(true)
    expect(mayRetryConnection(failed('ENOTFOUND'), unsafe)).toBe(true)
    expect(mayRetryConnection(null, unsafe)).toBe(false)
    expect(mayRetryConnection(failed('ECONNREFUSED'), { ...safe, hasLastingBody: false })).toBe(false)
  })

  it('wait twice as long each time, with jitter, up to a limit', () => {
    for (const [attempt, longest] of [250, 500, 1000, 2000, 4000, 8000, 8000].entries()) {
      const ms = retryDelayMs(attempt, null) ?? 0
      expect(ms).toBeGreaterThanOrEqual(longest / 2)
      expect(ms).toBeLessThanOrEqual(longest)
    }
  })

  it('heed Retry-After in seconds and as a date, unless it asks for more than a minute', () => {
    expect(retryDelayMs(0, '2')).toBeGreaterThanOrEqual(2000)
    expect(retryDelayMs(0, '2')).toBeLessThan(2251)
    expect(retryDelayMs(0, '0')).toBeLessThan(251)
    expect(retryDelayMs(0, new Date(Date.now() + 30_000).toUTCString())).toBeGreaterThan(25_000)
    expect(retryDelayMs(0, new Date(0).toUTCString())).toBeLessThan(251)
    expect(retryDelayMs(0, '61')).toBeNull()
    expect(retryDelayMs(0, 'soon')).toBeLessThanOrEqual(250)
  })
})
