import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseByteRange } from './parse-byte-range.ts'

describe('parseByteRange', () => {
  it.each([
    ['bytes=0-0', { offset: 0, length: 1 }],
    ['bytes=2-4', { offset: 2, length: 3 }],
    ['bytes=2-', { offset: 2, length: 8 }],
    ['bytes=2-99', { offset: 2, length: 8 }],
    ['bytes=-3', { offset: 7, length: 3 }],
    ['bytes=-99', { offset: 0, length: 10 }],
    ['BYTES= 1-1 ', { offset: 1, length: 1 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=10-11', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    [undefined, null],
    ['', null],
    ['bytes=-', null],
    ['bytes=4-2', null],
    ['bytes=0-1,4-5', null],
    ['bytes=a-b', null],
    ['bytes=0x1-2', null],
    ['lines=0-1', null],
    [`bytes=${'9'.repeat(16)}-`, null],
  ])('%s of ten bytes', (header, expected) => {
    expect(parseByteRange(header, 10)).toEqual(expected)
  })

  it('is unsatisfiable for an empty file', () => {
    for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-1']) expect(parseByteRange(header, 0)).toBe('unsatisfiable')
  })

  it('always lies within the file', () => {
    const digits = fc.oneof(fc.constant(''), fc.nat().map(String))
    fc.assert(
      fc.property(digits, digits, fc.nat(), (from, to, size) => {
        const range = parseByteRange(`bytes=${from}-${to}`, size)
        if (range === null || range === 'unsatisfiable') return
        expect(range.length).toBeGreaterThan(0)
        expect(range.offset + range.length).toBeLessThanOrEqual(size)
      }),
    )
  })
})
