import type { SandboxId } from '@offshoot/contract/ids'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RecentWrites } from './recent-writes.ts'

const id = 'a' as SandboxId
const WITHIN_MS = 10_000

describe('RecentWrites', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('knows a file from the begin of a write until its events have arrived', async () => {
    const writes = new RecentWrites()
    await writes.during(id, '/a/../b', async () => expect(writes.has(id, '/b')).toBe(true))
    expect([writes.has(id, '/b'), writes.has(id, '/a'), writes.has('b' as SandboxId, '/b')]).toEqual([
      true,
      false,
      false,
    ])
    vi.advanceTimersByTime(WITHIN_MS)
    expect(writes.has(id, '/b')).toBe(false)
  })

  it('knows it until the last of several writes, also after one that fails', async () => {
    const writes = new RecentWrites()
    await expect(writes.during(id, '/b', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    vi.advanceTimersByTime(WITHIN_MS / 2)
    await writes.during(id, '/b', async () => undefined)
    vi.advanceTimersByTime(WITHIN_MS / 2)
    expect(writes.has(id, '/b')).toBe(true)
    vi.advanceTimersByTime(WITHIN_MS / 2)
    expect(writes.has(id, '/b')).toBe(false)
  })
})
