/**
 * The stream of a sandbox that moves, of a snapshot or of a template, compressed as a whole with zstd:
 *
 *     "OFFMOVE1", length of the header (32 bits), header (JSON), extents of each file of the header, "OFFMOVE."
 */
import { Readable } from 'node:stream'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import {
  type AnyHeader,
  MAX_MOVE_HEADER_BYTES,
  MOVE_BEGIN,
  MOVE_END,
  type MovedFile,
} from '@offshoot/contract/move-stream'
import type { z } from 'zod'
import { ByteReader } from './byte-reader.ts'
import { decodeExtents, encodeExtents } from './extents.ts'
import { MoveDamaged } from './move-damaged.ts'

/** Bytes that are compressed at once. Single extents may be very small. */
const JOINED_BYTES = 512 * 1024
/** Hosts of one service are near each other: a higher level would take longer than what it saves. */
const LEVEL = 1

/** @param open the content of a file, in chunks of whole blocks of 4 KiB, except the last */
export function writeMove(header: AnyHeader, open: (file: MovedFile) => AsyncIterable<Buffer>): Readable {
  const zstd = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
  const plain = Readable.from(joined(framesOf(header, open)), { objectMode: false })
  plain.once('error', (error) => zstd.destroy(error))
  zstd.once('close', () => plain.destroy())
  return plain.pipe(zstd)
}

async function* framesOf(header: AnyHeader, open: (file: MovedFile) => AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  yield Buffer.concat([Buffer.from(MOVE_BEGIN), length, text])
  for (const file of header.files) yield* encodeExtents(open(file))
  yield Buffer.from(MOVE_END)
}

async function* joined(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const part of parts) {
    waiting.push(part)
    bytes += part.length
    if (bytes < JOINED_BYTES) continue
    yield Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  yield Buffer.concat(waiting)
}

/** What to do with the parts of a stream, in this order. */
export interface MoveReceiver<Header extends AnyHeader> {
  header(header: Header): Promise<void>
  /** @param read calls `write` with each piece of data; everything between is zero */
  file(file: MovedFile, read: (write: (data: Buffer, at: number) => Promise<void>) => Promise<void>): Promise<void>
}

/**
 * @param schema of the header
 * @throws MoveDamaged; the error of `body`; what the receiver throws
 */
export async function readMove<Header extends AnyHeader>(
  body: Readable,
  schema: z.ZodType<Header>,
  receiver: MoveReceiver<Header>,
): Promise<void> {
  const zstd = createZstdDecompress()
  const fail = (error: Error) => zstd.destroy(error)
  body.once('error', fail)
  body.pipe(zstd)
  try {
    const reader = new ByteReader(zstd)
    const header = await readHeader(reader, schema)
    await receiver.header(header)
    for (const file of header.files) {
      await receiver.file(file, (write) => decodeExtents(reader, file.bytes, write))
    }
    if ((await reader.read(MOVE_END.length)).toString('latin1') !== MOVE_END)
      throw new MoveDamaged('the stream has no end')
    await reader.end()
  } catch (error) {
    throw explain(error)
  } finally {
    body.unpipe(zstd)
    body.off('error', fail)
    zstd.destroy()
  }
}

async function readHeader<Header>(reader: ByteReader, schema: z.ZodType<Header>): Promise<Header> {
  if ((await reader.read(MOVE_BEGIN.length)).toString('latin1') !== MOVE_BEGIN) {
    throw new MoveDamaged('the stream is none of a host, or of another version')
  }
  const bytes = (await reader.read(4)).readUInt32BE()
  if (bytes > MAX_MOVE_HEADER_BYTES) throw new MoveDamaged('the header is too long')
  const text = (await reader.read(bytes)).toString('utf8')
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    throw new MoveDamaged('the header is invalid', { cause: error })
  }
}

/** Errors of zstd have no system call. */
function explain(error: unknown): unknown {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  const isOfZstd = code !== undefined && (code.startsWith('ZSTD_') || code === 'Z_BUF_ERROR')
  return isOfZstd ? new MoveDamaged('the stream cannot be decompressed', { cause: error }) : error
}
