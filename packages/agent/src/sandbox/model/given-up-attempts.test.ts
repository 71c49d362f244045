import { expect, it } from 'vitest'
import { GivenUpAttempts } from './given-up-attempts.ts'

const HOUR_MS = 3_600_000

it('remembers each attempt for an hour', () => {
  const attempts = new GivenUpAttempts()
  attempts.note('first', 0)
  attempts.note('second', HOUR_MS - 1)
  expect(['first', 'second', 'third'].map((id) => attempts.has(id))).toEqual([true, true, false])
  attempts.note('third', HOUR_MS)
  expect(['first', 'second', 'third'].map((id) => attempts.has(id))).toEqual([false, true, true])
})
