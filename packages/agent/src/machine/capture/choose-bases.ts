import { runAt, type MemoryBase } from './memory-base.ts'
import type { GuestMemory } from './memory-map.ts'
import { MAX_RUNS, PAGE_BYTES } from './page-runs.ts'

/**
 * A checkpoint has at most as many bases. QEMU inherits two descriptors for each, below those of its TAP and its sockets
 * (`machine.ts`). The pages of a base that is one too many are written again.
 */
export const MAX_BASES = 4
/** Bases with more runs than this, together, are written again, so that the new pages have runs enough. */
const MAX_BASE_RUNS = MAX_RUNS / 2
/** A page that is mapped from somewhere else than the bake and the bases. */
const ELSEWHERE = 255

/**
 * Chooses which bases a new checkpoint lies over, and marks in `own` each page that it must therefore write itself. Nothing
 * is taken on trust: a page that QEMU does not map from where the kept bases would have it is marked.
 *
 * A base with no more pages than the layers above it is written again with them. So each kept base is larger than all
 * above it together: the checkpoint has at most twice the bytes that it needs, and a page is seldom written again.
 *
 * @param own one byte a page; 1 where it is anonymous memory of QEMU's
 * @param bases the lowest first
 * @returns how many are kept, from the lowest on
 */
export function chooseBases(own: Uint8Array, memory: GuestMemory, bases: readonly MemoryBase[]): number {
  const expected = new Uint8Array(own.length)
  for (const [index, { runs }] of bases.entries())
    for (const { firstPage, pages } of runs) expected.fill(index + 1, firstPage, firstPage + pages)
  const mapped = mappedFrom(own.length, memory, bases)
  let count = 0
  for (let page = 0; page < own.length; page++) {
    if (mapped[page] !== expected[page]) own[page] = 1
    count += own[page] ?? 0
  }
  let kept = bases.length
  while (kept > 0 && mustRewrite(bases.slice(0, kept), count)) {
    for (let page = 0; page < own.length; page++) {
      if (expected[page] !== kept || own[page] === 1) continue
      own[page] = 1
      count++
    }
    kept--
  }
  return kept
}

function mustRewrite(bases: readonly MemoryBase[], pagesAbove: number): boolean {
  const runs = bases.reduce((sum, base) => sum + base.runs.length, 0)
  return bases.length > MAX_BASES || runs > MAX_BASE_RUNS || (bases.at(-1)?.pages ?? 0) <= pagesAbove
}

/** One byte a page: 0 where it is mapped from its place in the bake, a base's number from 1 on where it is from its place in that one. */
function mappedFrom(pages: number, { start, foreign }: GuestMemory, bases: readonly MemoryBase[]): Uint8Array {
  const mapped = new Uint8Array(pages)
  for (const part of foreign) {
    const [first, end] = [(part.start - start) / PAGE_BYTES, (part.end - start) / PAGE_BYTES]
    mapped.fill(ELSEWHERE, first, end)
    const index = bases.findIndex(({ inode }) => inode === part.inode)
    for (let page = first; page < end;) {
      const run = runAt(bases[index], part.offset / PAGE_BYTES + page - first)
      if (run === null) break
      const next = Math.min(page + run.pages, end)
      if (run.firstPage === page) mapped.fill(index + 1, page, next)
      page = next
    }
  }
  return mapped
}
