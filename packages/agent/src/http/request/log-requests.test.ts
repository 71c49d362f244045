import { expect, it } from 'vitest'
import { readRequestId } from './log-requests.ts'

const given = (id: string) => readRequestId({ headers: { 'x-request-id': id } })

it('keeps an id that is safe to log', () => {
  expect(given('abc-123')).toBe('abc-123')
  expect(given('x'.repeat(64))).toBe('x'.repeat(64))
})

it.each(['', 'x'.repeat(65), 'a\nb', 'ü'])('replaces %j', (id) => {
  expect(given(id)).toMatch(/^[0-9a-f-]{36}$/)
})
