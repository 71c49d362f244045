import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readSync } from 'node:fs'
import type { FileSeal } from './checkpoint.ts'

const CHUNK_BYTES = 1024 * 1024
let chunk: Buffer | undefined

export interface SealFile {
  readonly path: string
  /** `true`: waits until the file is on the disk. */
  readonly isDurable: boolean
}

/** Returns the size and hash of a file. Runs on a thread of its own, because it never yields. */
export function sealFile({ path, isDurable }: SealFile): FileSeal {
  chunk ??= Buffer.alloc(CHUNK_BYTES)
  const hash = createHash('sha256')
  const fd = openSync(path, 'r')
  let bytes = 0
  try {
    for (;;) {
      const got = readSync(fd, chunk)
      if (got === 0) break
      hash.update(chunk.subarray(0, got))
      bytes += got
    }
    if (isDurable) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  return { bytes, sha256: hash.digest('hex') }
}
