import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { PAGE_BYTES, type PageRun } from './page-runs.ts'

/** Bytes that are gathered before they are written. */
const BUFFER_BYTES = 4 * 1024 * 1024

/** A run with its place in a file of pages. */
export interface PlacedRun extends PageRun {
  readonly filePage: number
}

/** Filled, so that its pages are there before a guest waits for them. */
const buffer = Buffer.alloc(BUFFER_BYTES, 1)

/**
 * Copies runs of a guest's memory to their places in a file. For a thread of its own: it never yields.
 * @param start address of the guest's memory in QEMU @param output descriptor of the file
 */
export function copyRuns(pid: number, start: number, runs: readonly PlacedRun[], output: number): void {
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  let filled = 0
  // Of the buffer's first byte in the file.
  let position = 0
  const flush = () => {
    writeWhole(output, buffer.subarray(0, filled), position)
    position += filled
    filled = 0
  }
  try {
    for (const { firstPage, pages, filePage } of runs) {
      if (position + filled !== filePage * PAGE_BYTES) {
        flush()
        position = filePage * PAGE_BYTES
      }
      const end = start + (firstPage + pages) * PAGE_BYTES
      for (let at = start + firstPage * PAGE_BYTES; at < end;) {
        const got = readSync(memory, buffer, filled, Math.min(end - at, BUFFER_BYTES - filled), at)
        if (got === 0) throw new Error("QEMU's memory ended early")
        at += got
        filled += got
        if (filled === BUFFER_BYTES) flush()
      }
    }
    flush()
  } finally {
    closeSync(memory)
  }
}

function writeWhole(fd: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, position + at)
}
