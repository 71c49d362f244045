import { closeSync, fchmodSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { copyRuns, type PlacedRun } from './copy-runs.ts'
import { findGuestMemory, type GuestMemory, parseMaps } from './memory-map.ts'
import { encodeRuns, MAX_RUNS, mergeRuns, PAGE_BYTES, type PageRun } from './page-runs.ts'

/** Runs of the first pass; those that come later have as many. */
const FIRST_RUNS = MAX_RUNS / 2

export interface LocateMemory {
  readonly pid: number
  readonly bakeMemory: string
  readonly memoryBytes: number
}

/** Where a guest's memory lies in its QEMU. For a thread of its own: there may be many mappings. */
export function locateMemory({ pid, bakeMemory, memoryBytes }: LocateMemory): GuestMemory {
  const maps = parseMaps(readFileSync(`/proc/${pid}/maps`, 'latin1'))
  return findGuestMemory(maps, statSync(bakeMemory).ino, memoryBytes)
}

export interface CopyWritten {
  readonly pid: number
  readonly memory: GuestMemory
  /** File of the pages. The first pass makes it, the last one leaves it for ever as it is. */
  readonly pages: string
  /** What earlier passes have put there, in the order in which it is there; empty: this is the first pass. */
  readonly known: readonly PageRun[]
  /** What was written since; at the first pass all pages that are the guest's own. */
  readonly written: readonly PageRun[]
  /** File of the list of runs, for the last pass. */
  readonly runs: string | null
}

export interface CopiedWritten {
  readonly known: readonly PageRun[]
  /** Pages that were copied this time. */
  readonly pages: number
}

/**
 * One pass of copying a memory that may be written meanwhile: what is there already is written over, what is not comes behind it.
 * For a thread of its own: it never yields. @throws Error when it is too scattered
 */
export function copyWritten({ pid, memory, pages, known, written, runs }: CopyWritten): CopiedWritten {
  const isFirst = known.length === 0
  const wanted = isFirst ? mergeRuns(ownPages(memory, written), FIRST_RUNS) : written
  const { placed, added } = place(known, wanted)
  if (known.length + added.length > MAX_RUNS)
    throw new Error('the memory is too scattered to be copied while it is in use')
  const all = [...known, ...added]
  inFile(pages, isFirst ? 'w' : 'r+', (fd) => {
    copyRuns(pid, memory.start, placed, fd)
    if (runs !== null) fchmodSync(fd, 0o400)
  })
  if (runs !== null) {
    inFile(runs, 'w', (fd) => {
      writeFileSync(fd, encodeRuns(all))
      fchmodSync(fd, 0o400)
    })
  }
  return { known: all, pages: count(placed) }
}

/** One byte a page, as {@link mergeRuns} wants it. */
function ownPages({ start, bytes, foreign }: GuestMemory, written: readonly PageRun[]): Uint8Array {
  const own = new Uint8Array(bytes / PAGE_BYTES)
  for (const { firstPage, pages } of written) own.fill(1, firstPage, firstPage + pages)
  for (const part of foreign) own.fill(1, (part.start - start) / PAGE_BYTES, (part.end - start) / PAGE_BYTES)
  return own
}

/** Cuts runs where those that have a place begin and end; what has none gets one behind all others. */
export function place(
  known: readonly PageRun[],
  wanted: readonly PageRun[],
): { readonly placed: readonly PlacedRun[]; readonly added: readonly PageRun[] } {
  let end = 0
  const places: PlacedRun[] = known.map((run) => {
    const filePage = end
    end += run.pages
    return { ...run, filePage }
  })
  places.sort((a, b) => a.firstPage - b.firstPage)
  const placed: PlacedRun[] = []
  const added: PageRun[] = []
  const add = (firstPage: number, pages: number) => {
    placed.push({ firstPage, pages, filePage: end })
    added.push({ firstPage, pages })
    end += pages
  }
  // Both are in ascending order.
  let next = 0
  for (const run of wanted) {
    const runEnd = run.firstPage + run.pages
    for (let page = run.firstPage; page < runEnd;) {
      while (next < places.length && endOf(places[next]) <= page) next++
      const there = places[next]
      if (there === undefined || there.firstPage >= runEnd) {
        add(page, runEnd - page)
        break
      }
      if (there.firstPage > page) add(page, there.firstPage - page)
      const from = Math.max(page, there.firstPage)
      const to = Math.min(runEnd, endOf(there))
      placed.push({ firstPage: from, pages: to - from, filePage: there.filePage + from - there.firstPage })
      page = to
    }
  }
  return { placed, added }
}

function endOf(run: PageRun | undefined): number {
  return run === undefined ? Infinity : run.firstPage + run.pages
}

function count(runs: readonly PageRun[]): number {
  return runs.reduce((sum, { pages }) => sum + pages, 0)
}

function inFile(path: string, flags: 'w' | 'r+', write: (fd: number) => void): void {
  const fd = openSync(path, flags, 0o600)
  try {
    write(fd)
  } finally {
    closeSync(fd)
  }
}
