import { describe, expect, it } from 'vitest'
import { Activity } from './activity.ts'

describe('Activity', () => {
  it('starts with the given idle time', () => {
    expect(new Activity(5000).idleMs).toBeGreaterThanOrEqual(5000)
  })

  it('is not idle while any operation runs, even if others have ended', () => {
    const activity = new Activity(5000)
    const first = activity.begin()
    const second = activity.begin()
    first()
    first()
    expect(activity.idleMs).toBe(0)
    second()
    expect(activity.idleMs).toBeLessThan(5000)
    activity.begin()
    expect(activity.idleMs).toBe(0)
  })

  it('measures the time since the last activity', () => {
    const activity = new Activity(5000)
    activity.touch()
    expect(activity.idleMs).toBeLessThan(5000)
  })
})
