import { describe, expect, it } from 'vitest'
import { boundsOf, daysBetween, recentMonths } from './months.ts'

describe('months of the usage page', () => {
  it('go back a year, over the turn of the year', () => {
    const months = recentMonths(new Date('2026-02-28T23:59:59Z'))
    expect([months.length, ...months.slice(0, 3)]).toEqual([12, '2026-02', '2026-01', '2025-12'])
  })

  it('end with the first day of the next one', () => {
    expect(boundsOf('2026-12')).toEqual({ from: '2026-12-01', to: '2027-01-01' })
  })

  it('have all their days', () => {
    const days = daysBetween('2024-02-01', '2024-03-01')
    expect([days.length, days[0], days.at(-1)]).toEqual([29, '2024-02-01', '2024-02-29'])
  })
})
