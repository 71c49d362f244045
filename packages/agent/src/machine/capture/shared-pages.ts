import { readFileSync } from 'node:fs'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { openBase } from './memory-base.ts'
import type { GuestMemory } from './memory-map.ts'
import { FRAME_BITS, pageEntries, PRESENT } from './page-map.ts'
import { countPages, decodeRuns, findRuns, PAGE_BYTES, type PageRun } from './page-runs.ts'
import { mappedMemory, type MemoryPlace } from './save-memory.ts'

/** Shorter stretches of pages are not worth a mapping: 64 KiB. */
const LEAST_PAGES = 16
/** Each needs two mappings of QEMU at most, of which it may have 65530 (vm.max_map_count). */
const MAX_STRETCHES = 4096

export interface SharedPages extends MemoryPlace {
  /** The process that holds an image of the memory (`memory-image.ts`). */
  readonly image: number
  /** The runs that were copied from the image. */
  readonly runs: string
  /** As for the copy. */
  readonly bases: readonly MemoryFiles[]
}

/**
 * Finds the pages that a QEMU has not written since an image was taken. Its CPUs are stopped, and its main thread waits, so nothing
 * writes. The image is a fork of QEMU: a page that has the same frame in both is shared and has not been written by either.
 * @returns one byte per page of the runs: 1 if it is shared. Short stretches count as not shared. Without CAP_SYS_ADMIN none
 *   is, because the kernel does not name frames then
 */
export function sharedPages({ pid, image, runs, bases, ...place }: SharedPages): Uint8Array {
  const memory = mappedMemory({ pid, ...place }, bases.map(openBase))
  const shared = sharedFrames(pid, image, memory)
  return pagesOfRuns(shared, decodeRuns(readFileSync(runs)))
}

/**
 * One byte per page of the memory. QEMU's entries are read before and after the image's: a page could otherwise be moved in between,
 * and the image's page to where it was.
 */
function sharedFrames(pid: number, image: number, memory: GuestMemory): Uint8Array {
  const shared = new Uint8Array(memory.bytes / PAGE_BYTES)
  const others = [pageEntries(image, memory), pageEntries(pid, memory)]
  let page = 0
  for (const first of pageEntries(pid, memory)) {
    const [second, third] = others.map((entries) => entries.next().value)
    if (second?.length !== first.length || third?.length !== first.length)
      throw new Error('two page maps differ in size')
    for (let at = 0; at < first.length; at += 2, page++) {
      if (isSameFrame(first, second, at) && isSameFrame(first, third, at)) shared[page] = 1
    }
  }
  return shared
}

function isSameFrame(one: Uint32Array, other: Uint32Array, at: number): boolean {
  const [lower = 0, upper = 0] = [one[at], one[at + 1]]
  const otherUpper = other[at + 1] ?? 0
  const isPresent = (upper & otherUpper & PRESENT) !== 0
  const isNamed = lower !== 0 || (upper & FRAME_BITS) !== 0
  return isPresent && isNamed && lower === other[at] && ((upper ^ otherUpper) & FRAME_BITS) === 0
}

/** Of the pages of the runs, one after the other, as in their file. */
export function pagesOfRuns(
  shared: Uint8Array,
  runs: readonly PageRun[],
  { leastPages = LEAST_PAGES, maxStretches = MAX_STRETCHES } = {},
): Uint8Array {
  const stretches = runs.flatMap(({ firstPage, pages }) =>
    findRuns(shared.subarray(firstPage, firstPage + pages)).map((found) => ({
      ...found,
      firstPage: firstPage + found.firstPage,
    })),
  )
  let least = leastPages
  const isLong = ({ pages }: PageRun) => pages >= least
  while (stretches.filter(isLong).length > maxStretches) least *= 2
  const long = new Uint8Array(shared.length)
  for (const { firstPage, pages } of stretches.filter(isLong)) long.fill(1, firstPage, firstPage + pages)
  const found = new Uint8Array(countPages(runs))
  let at = 0
  for (const { firstPage, pages } of runs) {
    found.set(long.subarray(firstPage, firstPage + pages), at)
    at += pages
  }
  return found
}
