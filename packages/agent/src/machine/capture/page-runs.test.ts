import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { cutRuns, decodeRuns, encodeRuns, mergeRuns } from './page-runs.ts'

const own = (text: string) => Uint8Array.from(text, (letter) => (letter === 'x' ? 1 : 0))

describe('runs', () => {
  it.each([
    ['', []],
    ['....', []],
    ['xxxx', [[0, 4]]],
    [
      '..xx....x.',
      [
        [2, 2],
        [8, 1],
      ],
    ],
    [
      'x.x',
      [
        [0, 1],
        [2, 1],
      ],
    ],
    ['xxxxxxxxxxx.xx', [[0, 14]]],
  ])('of %s', (text, runs) => {
    expect(mergeRuns(own(text)).map(({ firstPage, pages }) => [firstPage, pages])).toEqual(runs)
  })

  it('include at most a tenth of unwritten pages, the narrowest gaps first', () => {
    const text = `${'x'.repeat(30)}..${'x'.repeat(30)}.${'x'.repeat(10)}......x`
    expect(mergeRuns(own(text))).toEqual([
      { firstPage: 0, pages: 73 },
      { firstPage: 79, pages: 1 },
    ])
  })

  it('include wider gaps until there are few enough runs', () => {
    const sparse = own('x.....'.repeat(100))
    expect(mergeRuns(sparse)).toHaveLength(100)
    expect(mergeRuns(sparse, 99)).toEqual([{ firstPage: 0, pages: 595 }])
  })

  it('are cut into shares without loss, at any page', () => {
    const pages = fc.uint8Array({ max: 1, maxLength: 200 })
    fc.assert(
      fc.property(pages, fc.nat(200), (bytes, at) => {
        const runs = mergeRuns(bytes)
        const count = runs.reduce((sum, run) => sum + run.pages, 0)
        const shares = [cutRuns(runs, 0, Math.min(at, count)), cutRuns(runs, Math.min(at, count), count)]
        const pagesOf = (some: typeof runs) =>
          some.flatMap((run) => Array.from({ length: run.pages }, (_unused, index) => run.firstPage + index))
        expect(shares.map((share) => pagesOf(share).length)).toEqual([Math.min(at, count), count - Math.min(at, count)])
        expect(shares.flatMap(pagesOf)).toEqual(pagesOf(runs))
      }),
    )
  })

  it('contain every page of the guest, in order, without overlap, in as few runs as possible', () => {
    const pages = fc.uint8Array({ max: 1, maxLength: 400 })
    fc.assert(
      fc.property(pages, fc.integer({ min: 1, max: 20 }), (bytes, maxRuns) => {
        const runs = mergeRuns(bytes, maxRuns)
        expect(runs.length).toBeLessThanOrEqual(maxRuns)
        const covered = new Uint8Array(bytes.length)
        let end = -1
        for (const { firstPage, pages: count } of runs) {
          expect(firstPage).toBeGreaterThan(end)
          end = firstPage + count
          expect([bytes[firstPage], bytes[end - 1]]).toEqual([1, 1])
          covered.fill(1, firstPage, end)
        }
        expect(bytes.every((isOwn, page) => isOwn === 0 || covered[page] === 1)).toBe(true)
      }),
    )
  })

  it('are encoded as the preload object reads them', () => {
    const bytes = encodeRuns([{ firstPage: 258, pages: 3 }])
    expect(bytes.toString('latin1')).toBe('OFFRUNS1\x01\0\0\0\0\0\0\0\x02\x01\0\0\x03\0\0\0')
  })

  it('are decoded only from a valid encoding', () => {
    const runs = [
      { firstPage: 0, pages: 2 },
      { firstPage: 5, pages: 1 },
    ]
    const bytes = encodeRuns(runs)
    expect(decodeRuns(bytes)).toEqual(runs)
    expect(decodeRuns(encodeRuns([]))).toEqual([])
    const overlapping = encodeRuns([
      { firstPage: 0, pages: 2 },
      { firstPage: 1, pages: 1 },
    ])
    for (const other of [Buffer.alloc(0), bytes.subarray(0, -1), bytes.subarray(0, -8), overlapping])
      expect(() => decodeRuns(other)).toThrow('list of runs is invalid')
  })
})
