import { execFile } from 'node:child_process'
import { closeSync, openSync, readFileSync, readSync, statSync, writeSync } from 'node:fs'
import { promisify } from 'node:util'
import { findGuestMemory, parseMaps } from '@offshoot/agent/machine/capture/memory-map'

const run = promisify(execFile)

const PAGE_BYTES = 4096
/**
 * Bytes of an entry of /proc/PID/pagemap; and bits of its upper half: the page is present; the page belongs to a file.
 */
const ENTRY_BYTES = 8
const PRESENT = 0x8000_0000
const OF_FILE = 0x2000_0000

/** First step of a fork by hand: copies the memory that the parent was restored from. Keeps holes. */
export async function copyMemory(from: string, to: string): Promise<void> {
  await run('cp', ['--sparse=auto', '--reflink=auto', from, to])
}

/** Writes the pages that a stopped QEMU has modified into that copy. */
export function layOwnPages(pid: number, bakeMemory: string, memoryBytes: number, copy: string): void {
  const maps = parseMaps(readFileSync(`/proc/${pid}/maps`, 'latin1'))
  const { start } = findGuestMemory(maps, statSync(bakeMemory).ino, memoryBytes)
  const own = ownPages(pid, start, memoryBytes / PAGE_BYTES)
  const [memory, file] = [openSync(`/proc/${pid}/mem`, 'r'), openSync(copy, 'r+')]
  try {
    for (let first = own.indexOf(1); first >= 0;) {
      const next = own.indexOf(0, first)
      const end = next < 0 ? own.length : next
      const pages = Buffer.allocUnsafe((end - first) * PAGE_BYTES)
      readSync(memory, pages, 0, pages.length, start + first * PAGE_BYTES)
      writeSync(file, pages, 0, pages.length, first * PAGE_BYTES)
      first = own.indexOf(1, end)
    }
  } finally {
    closeSync(memory)
    closeSync(file)
  }
}

/** One byte per page: 1 if the guest has modified it. */
function ownPages(pid: number, start: number, pages: number): Uint8Array {
  const entries = new Uint32Array((pages * ENTRY_BYTES) / 4)
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r')
  try {
    readSync(pagemap, entries, 0, entries.byteLength, (start / PAGE_BYTES) * ENTRY_BYTES)
  } finally {
    closeSync(pagemap)
  }
  return Uint8Array.from({ length: pages }, (_, page) => {
    const upper = entries[2 * page + 1] ?? 0
    return (upper & PRESENT) !== 0 && (upper & OF_FILE) === 0 ? 1 : 0
  })
}
