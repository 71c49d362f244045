import { describe, expect, it } from 'vitest'
import { chooseBases, MAX_BASES } from './choose-bases.ts'
import { placeBase } from './memory-base.ts'
import type { Mapping } from './memory-map.ts'
import { MAX_RUNS, PAGE_BYTES } from './page-runs.ts'

const PAGES = 64
const START = 0x10_0000
const low = placeBase(8, [{ firstPage: 0, pages: 40 }])
const high = placeBase(9, [
  { firstPage: 10, pages: 4 },
  { firstPage: 20, pages: 4 },
])

/** Pages of the guest that are mapped from a file, beginning with its page `filePage`. */
function mapped(first: number, end: number, inode: number, filePage: number): Mapping {
  const [start, past] = [START + first * PAGE_BYTES, START + end * PAGE_BYTES]
  return { start, end: past, inode, offset: filePage * PAGE_BYTES }
}

/** The mappings of a QEMU that was restored from both. */
const RESTORED = [
  mapped(0, 10, 8, 0),
  mapped(10, 14, 9, 0),
  mapped(14, 20, 8, 14),
  mapped(20, 24, 9, 4),
  mapped(24, 40, 8, 24),
]
const memoryOf = (foreign: readonly Mapping[]) => ({ start: START, bytes: PAGES * PAGE_BYTES, foreign })
const pagesOf = (own: Uint8Array) => [...own.keys()].filter((page) => own[page] === 1)
const ownOf = (...pages: number[]) => Uint8Array.from({ length: PAGES }, (_, page) => (pages.includes(page) ? 1 : 0))

describe('the bases of a new checkpoint', () => {
  it('are those of its restore; it writes the anonymous pages', () => {
    const own = ownOf(3, 11, 50)
    expect(chooseBases(own, memoryOf(RESTORED), [low, high])).toBe(2)
    expect(pagesOf(own)).toEqual([3, 11, 50])
  })

  it('leave out a base that is no larger than the layers above it; its pages are written again', () => {
    const own = ownOf(0, 1, 2, 3, 4, 5, 11, 50)
    expect(chooseBases(own, memoryOf(RESTORED), [low, high])).toBe(1)
    expect(pagesOf(own)).toEqual([0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 20, 21, 22, 23, 50])
  })

  it('are none if most pages have changed', () => {
    const own = ownOf(...Array.from({ length: 40 }, (_, page) => page + 20))
    expect(chooseBases(own, memoryOf(RESTORED), [low, high])).toBe(0)
    expect(pagesOf(own)).toEqual(Array.from({ length: 60 }, (_, page) => page))
  })

  it.each<readonly [string, readonly Mapping[], readonly number[]]>([
    ['the bake', RESTORED.filter(({ inode }) => inode !== 9), [10, 11, 12, 13, 20, 21, 22, 23]],
    ['the base below', [mapped(0, 20, 8, 0), ...RESTORED.slice(3)], [10, 11, 12, 13]],
    ['another file', [...RESTORED.slice(0, 4), mapped(24, 26, 5, 0), mapped(26, 40, 8, 26)], [24, 25]],
    ['another place of the base', [...RESTORED.slice(0, 4), mapped(24, 26, 8, 0), mapped(26, 40, 8, 26)], [24, 25]],
    ['past the end of the base', [...RESTORED, mapped(40, 42, 8, 40)], [40, 41]],
    ['a base that has no such page', [...RESTORED, mapped(60, 61, 9, 3)], [60]],
  ])('do not cover pages that QEMU maps from %s', (_what, foreign, pages) => {
    const own = ownOf()
    const kept = chooseBases(own, memoryOf(foreign), [low, high])
    expect(pagesOf(own)).toEqual(pages)
    expect(kept).toBe(pages.length === 8 ? 1 : 2)
  })

  it('are limited in number and in runs', () => {
    const shrinking = [32, 16, 8, 4, 2].map((pages, index) => placeBase(10 + index, [{ firstPage: 0, pages }]))
    const foreign = [
      mapped(0, 2, 14, 0),
      mapped(2, 4, 13, 2),
      mapped(4, 8, 12, 4),
      mapped(8, 16, 11, 8),
      mapped(16, 32, 10, 16),
    ]
    const own = ownOf()
    expect(chooseBases(own, memoryOf(foreign), shrinking)).toBe(MAX_BASES)
    expect(pagesOf(own)).toEqual([0, 1])

    const runs = Array.from({ length: MAX_RUNS / 2 + 1 }, (_, run) => ({ firstPage: 2 * run, pages: 1 }))
    const scattered = runs.map(({ firstPage }, run) => mapped(firstPage, firstPage + 1, 8, run))
    const choose = (count: number) => {
      const memory = memoryOf(scattered.slice(0, count))
      return chooseBases(new Uint8Array(2 * MAX_RUNS), memory, [placeBase(8, runs.slice(0, count))])
    }
    expect([choose(MAX_RUNS / 2), choose(MAX_RUNS / 2 + 1)]).toEqual([1, 0])
  })
})
