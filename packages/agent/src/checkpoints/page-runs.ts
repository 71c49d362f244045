/** Bytes of a page of the guest's memory, and of ours: x86-64 has no other. */
export const PAGE_BYTES = 4096
/** QEMU maps every run by itself and may have 65530 mappings in all (vm.max_map_count); native/guest-memory.c knows it too. */
export const MAX_RUNS = 16_384

/**
 * Pages that a run takes along rather than end: a mapping and its page faults cost more than the 4 KiB of a page. One
 * page on either side of every third of the guest's own keeps a checkpoint below 1.2 times what the guest has written.
 */
const GAP_PAGES = 2
const MAGIC = 'OFFRUNS1'
const HEAD_BYTES = 16

/** Neighbouring pages of a guest's memory. */
export interface PageRun {
  readonly firstPage: number
  readonly pages: number
}

/** @param own one byte a page, not 0 where it is the guest's own */
export function mergeRuns(own: Uint8Array, maxRuns = MAX_RUNS): PageRun[] {
  for (let gap = GAP_PAGES; ; gap *= 2) {
    const runs = runsOf(own, gap)
    if (runs.length <= maxRuns) return runs
  }
}

function runsOf(own: Uint8Array, maxGap: number): PageRun[] {
  const runs: PageRun[] = []
  let first = own.indexOf(1)
  let end = first
  while (first >= 0 && end >= 0) {
    let after = own.indexOf(0, end)
    if (after < 0) after = own.length
    const next = own.indexOf(1, after)
    if (next >= 0 && next - after <= maxGap) {
      end = next
      continue
    }
    runs.push({ firstPage: first, pages: after - first })
    first = next
    end = next
  }
  return runs
}

/** As native/guest-memory.c reads it: a head of 8 characters and the number of runs, then two 32-bit numbers each. */
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
