/**
 * The content of a sparse file as extents: 32 bits with the number of bytes that are zero, 32 bits with the number of bytes
 * that follow, and these bytes. Both numbers are big-endian.
 */
import { isZeroWindow } from '../data-dir/file-windows.ts'
import { BLOCK_BYTES, isZeroBlock } from '../data-dir/zero-blocks.ts'
import type { ByteReader } from './byte-reader.ts'
import { MoveDamaged } from './move-damaged.ts'

/** Maximum bytes of data in one extent: what a receiver keeps in memory. */
const MAX_DATA_BYTES = 1024 * 1024
const MAX_ZERO_BYTES = 2 ** 31
const HEAD_BYTES = 8

/** A part of a file: zeros, then data. */
interface Extent {
  readonly zeros: number
  readonly data: Buffer
}

/** @param chunks the whole content; each is a multiple of the block size, except the last */
export async function* encodeExtents(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let zeros = 0
  for await (const chunk of chunks) {
    if (isZeroWindow(chunk)) {
      zeros += chunk.length
      continue
    }
    for (let at = 0; at < chunk.length;) {
      const start = skipZeros(chunk, at)
      zeros += start - at
      const end = endOfData(chunk, start)
      if (end > start) {
        yield* encodeOne({ zeros, data: chunk.subarray(start, end) })
        zeros = 0
      }
      at = end
    }
  }
  if (zeros > 0) yield* encodeOne({ zeros, data: Buffer.alloc(0) })
}

function* encodeOne({ zeros, data }: Extent): Generator<Buffer> {
  let left = zeros
  for (; left > MAX_ZERO_BYTES; left -= MAX_ZERO_BYTES) yield head(MAX_ZERO_BYTES, 0)
  yield head(left, data.length)
  if (data.length > 0) yield data
}

function head(zeros: number, bytes: number): Buffer {
  const encoded = Buffer.alloc(HEAD_BYTES)
  encoded.writeUInt32BE(zeros, 0)
  encoded.writeUInt32BE(bytes, 4)
  return encoded
}

function skipZeros(chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && isZeroBlock(chunk, at)) at = Math.min(at + BLOCK_BYTES, chunk.length)
  return at
}

function endOfData(chunk: Buffer, from: number): number {
  const limit = Math.min(chunk.length, from + MAX_DATA_BYTES)
  let at = from
  while (at < limit && !isZeroBlock(chunk, at)) at = Math.min(at + BLOCK_BYTES, limit)
  return at
}

/**
 * Reads the content of one file.
 * @param write gets each piece of data and its place in the file, in order; everything between is zero
 * @throws MoveDamaged if the extents do not have the file's length
 */
export async function decodeExtents(
  reader: ByteReader,
  bytes: number,
  write: (data: Buffer, at: number) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < bytes;) {
    const encoded = await reader.read(HEAD_BYTES)
    const [zeros, length] = [encoded.readUInt32BE(0), encoded.readUInt32BE(4)]
    const isPossible = zeros + length > 0 && length <= MAX_DATA_BYTES && at + zeros + length <= bytes
    if (!isPossible) throw new MoveDamaged('the length of a part is impossible')
    at += zeros
    if (length > 0) await write(await reader.read(length), at)
    at += length
  }
}
