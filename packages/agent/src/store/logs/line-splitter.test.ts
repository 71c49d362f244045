import { MAX_LOG_LINE_CHARS } from '@offshoot/contract/log'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { LineSplitter } from './line-splitter.ts'

it('returns the same lines however the bytes are chunked', () => {
  const text = fc
    .array(fc.constantFrom('a', 'ü', '😀', '\n', '\r\n', ' '), { maxLength: 60 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, fc.array(fc.nat(12)), (whole, cuts) => {
      const bytes = Buffer.from(whole)
      const splitter = new LineSplitter()
      const lines: string[] = []
      let at = 0
      for (const length of [...cuts, bytes.length]) {
        lines.push(...splitter.push(bytes.subarray(at, at + length)))
        at += length
      }
      lines.push(...splitter.end())
      const expected = whole
        .split('\n')
        .map((line, index, all) => (index < all.length - 1 ? line.replace(/\r$/, '') : line))
      if (expected.at(-1) === '') expected.pop()
      expect(lines).toEqual(expected)
    }),
  )
})

it('cuts a line that never ends, and buffers at most one line', () => {
  const splitter = new LineSplitter()
  const lines: string[] = []
  for (let index = 0; index < 10; index++) lines.push(...splitter.push(Buffer.from('😀'.repeat(5000))))
  expect(splitter.restBytes).toBeLessThanOrEqual(2 * MAX_LOG_LINE_CHARS)
  lines.push(...splitter.end())
  expect(lines.join('')).toBe('😀'.repeat(50_000))
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(MAX_LOG_LINE_CHARS)
  expect(lines.every((line) => line.isWellFormed())).toBe(true)
})
