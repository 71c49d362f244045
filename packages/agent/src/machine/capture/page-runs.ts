/** Bytes of a page, of the guest and of the host: x86-64 has no other size. */
export const PAGE_BYTES = 4096
/** QEMU maps every run separately, and may have 65530 mappings (vm.max_map_count). native/guest-memory.c has the same limit. */
export const MAX_RUNS = 16_384

/**
 * Maximum share of unwritten pages in a checkpoint. A run may include unwritten pages between two written ones, because a
 * mapping and its page faults cost more than the 4 KiB of a page.
 */
const MAX_EXTRA_SHARE = 0.1
const MAGIC = 'OFFRUNS1'
const HEAD_BYTES = 16

/** Neighbouring pages of a guest's memory. */
export interface PageRun {
  readonly firstPage: number
  readonly pages: number
}

/** @param own one byte per page, 1 for pages that the guest has written */
export function mergeRuns(own: Uint8Array, maxRuns = MAX_RUNS): PageRun[] {
  const exact = findRuns(own)
  for (let gap = affordableGap(exact); ; gap = gap * 2 + 1) {
    const runs = joinRuns(exact, gap)
    if (runs.length <= maxRuns) return runs
  }
}

/** The longest runs of ones. */
export function findRuns(own: Uint8Array): PageRun[] {
  const runs: PageRun[] = []
  for (let first = own.indexOf(1); first >= 0;) {
    const next = own.indexOf(0, first)
    const end = next < 0 ? own.length : next
    runs.push({ firstPage: first, pages: end - first })
    first = own.indexOf(1, end)
  }
  return runs
}

/** Joins runs that are at most `maxGap` pages apart. */
function joinRuns(runs: readonly PageRun[], maxGap: number): PageRun[] {
  const joined: PageRun[] = []
  for (const run of runs) {
    const last = joined.at(-1)
    if (last === undefined || gapBetween(last, run) > maxGap) joined.push(run)
    else joined[joined.length - 1] = { ...last, pages: run.firstPage + run.pages - last.firstPage }
  }
  return joined
}

/** The widest gap for which all gaps up to it have together no more than a small share of the written pages. */
function affordableGap(runs: readonly PageRun[]): number {
  let budget = MAX_EXTRA_SHARE * countPages(runs)
  const gaps = runs.slice(1).map((run, index) => gapBetween(runs[index] ?? run, run))
  const counts = new Map<number, number>()
  for (const gap of gaps) counts.set(gap, (counts.get(gap) ?? 0) + 1)
  let affordable = 0
  for (const [gap, count] of [...counts].toSorted(([a], [b]) => a - b)) {
    budget -= gap * count
    if (budget < 0) break
    affordable = gap
  }
  return affordable
}

/** The pages of all runs. */
export function countPages(runs: readonly PageRun[]): number {
  return runs.reduce((sum, run) => sum + run.pages, 0)
}

function gapBetween(before: PageRun, after: PageRun): number {
  return after.firstPage - before.firstPage - before.pages
}

/** The runs of the pages `from` to `to` (exclusive), counted through all runs. */
export function cutRuns(runs: readonly PageRun[], from: number, to: number): PageRun[] {
  const cut: PageRun[] = []
  let first = 0
  for (const { firstPage, pages } of runs) {
    const [start, end] = [Math.max(from - first, 0), Math.min(to - first, pages)]
    if (start < end) cut.push({ firstPage: firstPage + start, pages: end - start })
    first += pages
  }
  return cut
}

/**
 * Encodes runs for native/guest-memory.c: a head of 8 characters and the number of runs, then two 32-bit numbers for each
 * run.
 */
export function encodeRuns(runs: readonly PageRun[]): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES + runs.length * 8)
  bytes.write(MAGIC, 'latin1')
  bytes.writeBigUInt64LE(BigInt(runs.length), 8)
  let at = HEAD_BYTES
  for (const { firstPage, pages } of runs) {
    at = bytes.writeUInt32LE(firstPage, at)
    at = bytes.writeUInt32LE(pages, at)
  }
  return bytes
}

/** @throws Error if the bytes are not an output of {@link encodeRuns} */
export function decodeRuns(bytes: Buffer): PageRun[] {
  const runs: PageRun[] = []
  let end = 0
  for (let at = HEAD_BYTES; at + 8 <= bytes.length; at += 8) {
    const [firstPage, pages] = [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)]
    if (firstPage < end || pages === 0) throw new Error('the list of runs is invalid')
    end = firstPage + pages
    runs.push({ firstPage, pages })
  }
  if (!encodeRuns(runs).equals(bytes)) throw new Error('the list of runs is invalid')
  return runs
}
