import { createHash, type Hash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readSync } from 'node:fs'
import { BLOCK_BYTES, isZeroBlock } from '../data-dir/zero-blocks.ts'
import type { FileSeal } from './checkpoint.ts'

const CHUNK_BYTES = 1024 * 1024
let chunk: Buffer | undefined

export interface SealFile {
  readonly path: string
  /** `true`: waits until the file is on the disk. */
  readonly isDurable: boolean
  /** `true`: hashes only what is not zero, with its places. Five times as fast for the image of a disk. */
  readonly isSparse?: boolean
}

/** Returns the size and hash of a file. Runs on a thread of its own, because it never yields. */
export function sealFile({ path, isDurable, isSparse = false }: SealFile): FileSeal {
  chunk ??= Buffer.alloc(CHUNK_BYTES)
  const hash = createHash('sha256')
  const fd = openSync(path, 'r')
  let bytes = 0
  try {
    for (;;) {
      const read = chunk.subarray(0, readFully(fd, chunk))
      if (read.length === 0) break
      if (isSparse) updateSparsely(hash, read, bytes)
      else hash.update(read)
      bytes += read.length
    }
    if (isDurable) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** So that every chunk but the last begins at a multiple of the block size. */
function readFully(fd: number, into: Buffer): number {
  let got = 0
  while (got < into.length) {
    const more = readSync(fd, into, got, into.length - got, null)
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
