import { runAt, type MemoryBase } from './memory-base.ts'
import type { GuestMemory } from './memory-map.ts'
import { MAX_RUNS, PAGE_BYTES } from './page-runs.ts'

/**
 * Maximum bases of a checkpoint. QEMU inherits two descriptors for each, below those of its TAP and its sockets
 * (`machine.ts`). The pages of further bases are written again.
 */
export const MAX_BASES = 4
/** Maximum runs of all bases together, so that enough runs are left for the new pages. Bases with more are written again. */
const MAX_BASE_RUNS = MAX_RUNS / 2
/** A page that is mapped neither from the bake nor from a base. */
const ELSEWHERE = 255

/**
 * Chooses the bases of a new checkpoint, and marks in `own` each page that the checkpoint must write itself. Checks every
 * page: one that QEMU does not map from its place in the kept bases is marked.
 *
 * A base with no more pages than the layers above it is written again with them. So each kept base is larger than all
 * layers above it together: the checkpoint has at most twice the bytes that it needs, and a page is seldom written again.
 * @param own one byte per page; 1 for anonymous memory of QEMU
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

/**
 * One byte per page: 0 if it is mapped from its place in the bake, or the number of the base, from 1 on, from whose place
 * it is mapped.
 */
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
