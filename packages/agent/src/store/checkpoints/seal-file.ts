import { createHash, type Hash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type DataRange, WINDOW_BYTES, windowsOf } from '../data-dir/file-windows.ts'
import { BLOCK_BYTES, isZeroBlock } from '../data-dir/zero-blocks.ts'
import type { FileSeal } from './checkpoint.ts'

let chunk: Buffer | undefined

export interface SealFile {
  readonly path: string
  /** `true`: hashes only what is not zero, with its places. Five times as fast for the image of a disk. */
  readonly isSparse?: boolean
  /** Where the file may have data, with `isSparse`. Absent or `null`: everywhere. */
  readonly ranges?: readonly DataRange[] | null
}

/** Returns the size and hash of a file. Runs on a thread of its own, because it never yields. */
export function sealFile({ path, isSparse = false, ranges = null }: SealFile): FileSeal {
  chunk ??= Buffer.alloc(WINDOW_BYTES)
  const hash = createHash('sha256')
  const fd = openSync(path, 'r')
  try {
    const bytes = fstatSync(fd).size
    for (const { at, length, hasData } of windowsOf(bytes, isSparse ? ranges : null)) {
      if (!hasData) continue
      const read = chunk.subarray(0, readFully(fd, chunk, at, length))
      if (read.length < length) throw new Error(`${path} became shorter while it was read`)
      if (isSparse) updateSparsely(hash, read, at)
      else hash.update(read)
    }
    return { bytes, sha256: hash.digest('hex') }
  } finally {
    closeSync(fd)
  }
}

/** So that every chunk but the last begins at a multiple of the block size. */
function readFully(fd: number, into: Buffer, at: number, length: number): number {
  let got = 0
  while (got < length) {
    const more = readSync(fd, into, got, length - got, at + got)
    if (more === 0) break
    got += more
  }
  return got
}

function updateSparsely(hash: Hash, read: Buffer, offset: number): void {
  let start = 0
  for (let at = 0; at < read.length; at += BLOCK_BYTES) {
    const end = Math.min(at + BLOCK_BYTES, read.length)
    if (isZeroBlock(read, at)) {
      updatePart(hash, read.subarray(start, at), offset + start)
      start = end
    }
  }
  updatePart(hash, read.subarray(start), offset + start)
}

function updatePart(hash: Hash, part: Buffer, at: number): void {
  if (part.length > 0) hash.update(`${at}:${part.length};`).update(part)
}
