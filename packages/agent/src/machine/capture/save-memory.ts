import { closeSync, constants, openSync, readFileSync, readSync, statSync, writeSync } from 'node:fs'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { chooseBases } from './choose-bases.ts'
import { openBase, type MemoryBase } from './memory-base.ts'
import { findGuestMemory, parseMaps, type GuestMemory } from './memory-map.ts'
import { ENTRY_BYTES, OF_FILE, pageEntries, PRESENT, SWAPPED } from './page-map.ts'
import {
  countPages,
  cutRuns,
  decodeRuns,
  encodeRuns,
  MAX_RUNS,
  mergeRuns,
  PAGE_BYTES,
  type PageRun,
} from './page-runs.ts'

/** Entries of one comparison: 2 MiB of guest memory. */
const PART_ENTRIES = 512
/** Bytes of one write: the buffer stays in the CPU's cache. For larger ones, Linux 6.18 on ext4 takes twice the CPU time. */
const BUFFER_BYTES = 256 * 1024
export const FINAL_MODE = 0o400
/** Mode of files that several threads write. The caller gives them {@link FINAL_MODE} afterwards. */
const SHARED_MODE = 0o600

const WHOLE = { flags: constants.O_TRUNC, mode: FINAL_MODE }
/** The file is new or empty, and no thread may truncate what another has written. */
const SHARED = { flags: 0, mode: SHARED_MODE }

export interface MemoryPlace {
  /** A QEMU whose CPUs are stopped. */
  readonly pid: number
  /** The memory file of the bake from which it was restored. */
  readonly bakeMemory: string
  readonly memoryBytes: number
}

export interface SaveMemory extends MemoryPlace {
  /** Files to create, or existing empty ones. */
  readonly pages: string
  readonly runs: string
  /** If there are more pages, the caller lets several threads write them ({@link copyShare}). */
  readonly maxPages: number
  /** Pages of earlier checkpoints that may become bases of the new one, the lowest first. */
  readonly bases: readonly MemoryFiles[]
}

export interface SavedMemory {
  /** All pages of the checkpoint: those that the guest has written, and some between them. */
  readonly pages: number
  readonly runs: number
  /** How many of the bases the checkpoint needs, from the lowest on. */
  readonly bases: number
  /** The pages are still to be written, from the memory that has this address in QEMU; `null`: they are written. */
  readonly start: number | null
}

/** A share of the pages. {@link saveMemory} has written their runs. */
export interface CopyShare extends Pick<SaveMemory, 'pid' | 'pages' | 'runs'> {
  readonly start: number
  readonly share: { readonly index: number; readonly of: number }
}

/** Filled in advance: its pages must be allocated before a guest waits for them. */
const buffer = Buffer.alloc(BUFFER_BYTES, 1)

/**
 * Writes the pages that a guest has written, and the pages of bases that are not kept. Runs on a thread of its own, because
 * it never yields. Reads everything through QEMU's mapping, so it works for a guest restored from anything, by any agent.
 */
export function saveMemory({ pid, bakeMemory, memoryBytes, pages, runs, maxPages, ...over }: SaveMemory): SavedMemory {
  const bases = over.bases.map(openBase)
  const memory = mappedMemory({ pid, bakeMemory, memoryBytes }, bases)
  const { own, kept } = ownPages(pid, memory, bases)
  const merged = mergeRuns(own, MAX_RUNS - bases.slice(0, kept).reduce((sum, base) => sum + base.runs.length, 0))
  const count = countPages(merged)
  writeFile(runs, WHOLE, (fd) => writeWhole(fd, encodeRuns(merged), 0))
  const isWhole = count <= maxPages
  if (isWhole) writeFile(pages, WHOLE, (fd) => copyRuns(pid, memory.start, merged, fd, 0))
  return { pages: count, runs: merged.length, bases: kept, start: isWhole ? null : memory.start }
}

/** Writes a share of the pages into the file that all threads write. */
export function copyShare({ pid, pages, runs, start, share: { index, of } }: CopyShare): void {
  const all = decodeRuns(readFileSync(runs))
  const count = countPages(all)
  const [from, to] = [Math.floor((count * index) / of), Math.floor((count * (index + 1)) / of)]
  writeFile(pages, SHARED, (fd) => copyRuns(pid, start, cutRuns(all, from, to), fd, from * PAGE_BYTES))
}

/** The encoded runs of the pages that a guest without a checkpoint has written, and of all that QEMU has used. Its CPUs are stopped. */
export function usedRuns(place: MemoryPlace) {
  const memory = mappedMemory(place)
  const [written, used] = [ownPages(place.pid, memory, []).own, markedPages(place.pid, memory, isUsed)]
  return { written: encodeRuns(mergeRuns(written)), used: encodeRuns(mergeRuns(used)) }
}

export function mappedMemory(
  { pid, bakeMemory, memoryBytes }: MemoryPlace,
  bases: readonly MemoryBase[] = [],
): GuestMemory {
  const mappings = parseMaps(readFileSync(`/proc/${pid}/maps`, 'latin1'))
  return findGuestMemory(mappings, statSync(bakeMemory).ino, memoryBytes, bases)
}

/** One byte per page: 1 if the page is neither that of the bake nor of a kept base. */
function ownPages(pid: number, memory: GuestMemory, bases: readonly MemoryBase[]) {
  const own = markedPages(pid, memory, isAnonymous)
  if (bases.length > 0) return { own, kept: chooseBases(own, memory, bases) }
  const { start, foreign } = memory
  for (const part of foreign) own.fill(1, (part.start - start) / PAGE_BYTES, (part.end - start) / PAGE_BYTES)
  return { own, kept: 0 }
}

/** One byte per page: 1 if the upper half of its entry says so. */
function markedPages(pid: number, memory: GuestMemory, isMarked: (upper: number) => boolean): Uint8Array {
  const own = new Uint8Array(memory.bytes / PAGE_BYTES)
  let page = 0
  for (const entries of pageEntries(pid, memory)) {
    markPages(own.subarray(page), entries, isMarked)
    page += entries.length / 2
  }
  return own
}

/** Most pages of a large guest are absent. Skips uniform parts of the map with memcmp. */
function markPages(own: Uint8Array, entries: Uint32Array, isMarked: (upper: number) => boolean): void {
  const bytes = Buffer.from(entries.buffer, entries.byteOffset, entries.byteLength)
  for (let start = 0; start < entries.length; start += PART_ENTRIES * 2) {
    const end = Math.min(start + PART_ENTRIES * 2, entries.length)
    if (isMarked(entries[start + 1] ?? 0) || !isUniform(bytes.subarray(start * 4, end * 4))) {
      for (let at = start + 1; at < end; at += 2) if (isMarked(entries[at] ?? 0)) own[at >> 1] = 1
    }
  }
}

function isUniform(part: Buffer): boolean {
  return part.subarray(ENTRY_BYTES).equals(part.subarray(0, -ENTRY_BYTES))
}

function isUsed(upper: number): boolean {
  return (upper & (PRESENT | SWAPPED)) !== 0
}

/** Memory of QEMU that is not mapped from a file. */
function isAnonymous(upper: number): boolean {
  return isUsed(upper) && (upper & OF_FILE) === 0
}

/** @param offset in the output, in bytes */
function copyRuns(pid: number, start: number, runs: readonly PageRun[], output: number, offset: number): void {
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  let filled = 0
  let written = offset
  try {
    for (const { firstPage, pages } of runs) {
      const end = start + (firstPage + pages) * PAGE_BYTES
      for (let at = start + firstPage * PAGE_BYTES; at < end;) {
        const got = readSync(memory, buffer, filled, Math.min(end - at, BUFFER_BYTES - filled), at)
        if (got === 0) throw new Error("QEMU's memory ended early")
        at += got
        filled += got
        if (filled < BUFFER_BYTES) continue
        writeWhole(output, buffer, written)
        written += filled
        filled = 0
      }
    }
    writeWhole(output, buffer.subarray(0, filled), written)
  } finally {
    closeSync(memory)
  }
}

function writeFile(path: string, { flags, mode }: typeof WHOLE, write: (fd: number) => void): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | flags, mode)
  try {
    write(fd)
  } finally {
    closeSync(fd)
  }
}

function writeWhole(fd: number, bytes: Buffer, offset: number): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, offset + at)
}
