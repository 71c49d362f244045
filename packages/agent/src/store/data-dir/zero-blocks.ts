/** Bytes of a block: what a file system leaves out of a sparse file. */
export const BLOCK_BYTES = 4096
const ZEROS = Buffer.alloc(BLOCK_BYTES)

/** Whether the block of `chunk` at this place has only zeros. It may be shorter at the end of the chunk. */
export function isZeroBlock(chunk: Buffer, at: number): boolean {
  const end = Math.min(at + BLOCK_BYTES, chunk.length)
  return chunk.compare(ZEROS, 0, end - at, at, end) === 0
}
