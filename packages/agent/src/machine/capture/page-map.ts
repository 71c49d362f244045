import { closeSync, openSync, readSync } from 'node:fs'
import type { GuestMemory } from './memory-map.ts'
import { PAGE_BYTES } from './page-runs.ts'

export const ENTRY_BYTES = 8
/** Bytes of one read: 1 GiB of guest memory. */
const PART_BYTES = 2 * 1024 * 1024

/** Bits in the upper half of an entry (Documentation/admin-guide/mm/pagemap.rst): present, swapped, mapped from a file. */
export const PRESENT = 0x8000_0000
export const SWAPPED = 0x4000_0000
export const OF_FILE = 0x2000_0000
/** The bits in the upper half that belong to the number of the page's frame. All of the lower half do. */
export const FRAME_BITS = 0x007f_ffff

/**
 * Reads /proc/PID/pagemap for the guest's memory, in parts.
 * @yields entries of successive pages, each as its lower and its upper half; valid until the next part
 */
export function* pageEntries(
  pid: number,
  { start, bytes }: Pick<GuestMemory, 'start' | 'bytes'>,
): Generator<Uint32Array> {
  const part = new Uint32Array(Math.min(PART_BYTES, (bytes / PAGE_BYTES) * ENTRY_BYTES) / 4)
  const raw = new Uint8Array(part.buffer)
  const end = ((start + bytes) / PAGE_BYTES) * ENTRY_BYTES
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r')
  try {
    for (let at = (start / PAGE_BYTES) * ENTRY_BYTES; at < end;) {
      const got = readSync(pagemap, raw, 0, Math.min(raw.length, end - at), at)
      if (got === 0 || got % ENTRY_BYTES !== 0) throw new Error("QEMU's page map ended early")
      yield part.subarray(0, got / 4)
      at += got
    }
  } finally {
    closeSync(pagemap)
  }
}
