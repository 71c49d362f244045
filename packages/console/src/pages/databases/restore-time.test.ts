import { expect, it } from 'vitest'
import { localTime, stepOf } from './restore-time.ts'

it('takes seconds, and longer steps for a long span', () => {
  expect(stepOf({ from: 0, to: 60_000 })).toBe(1000)
  expect(stepOf({ from: 0, to: 7 * 86_400_000 })).toBe(303_000)
})

it('writes a time as the browser reads it', () => {
  const at = Date.parse('2026-03-01T12:30:15.500Z')
  expect(new Date(localTime(at)).getTime()).toBe(Date.parse('2026-03-01T12:30:15.000Z'))
})
