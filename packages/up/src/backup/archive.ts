/**
 * Writes a tar archive (ustar) as a stream. A file that grows while it is read is cut to the size that its header says,
 * and one that shrinks is filled up with zeros, as pg_basebackup does: PostgreSQL repairs both from its log.
 */
import { createHash } from 'node:crypto'

const BLOCK_BYTES = 512
const NAME_MAX_BYTES = 100

export interface FileEntry {
  readonly kind: 'file'
  /** Relative. */
  readonly path: string
  readonly mode: number
  readonly bytes: number
  readonly content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}
export type Entry = FileEntry | { readonly kind: 'folder'; readonly path: string; readonly mode: number }

/** What an archive contains, by the path of each file. */
export type Checksums = Record<string, { readonly bytes: number; readonly sha256: string }>

/** @param checksums gets one entry for each file, once it is written */
export async function* writeArchive(entries: AsyncIterable<Entry>, checksums: Checksums): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    yield headers(entry)
    if (entry.kind === 'folder') continue
    const hash = createHash('sha256')
    for await (const chunk of exactly(entry)) {
      hash.update(chunk)
      yield chunk
    }
    yield padding(entry.bytes)
    checksums[entry.path] = { bytes: entry.bytes, sha256: hash.digest('hex') }
  }
  yield Buffer.alloc(2 * BLOCK_BYTES)
}

export function textEntry(path: string, text: string): FileEntry {
  const content = Buffer.from(text)
  return { kind: 'file', path, mode: 0o600, bytes: content.length, content: [content] }
}

async function* exactly({ bytes, content }: FileEntry): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const chunk of content) {
    const taken = chunk.subarray(0, left)
    left -= taken.length
    yield taken
    if (left === 0) return
  }
  for (; left > 0; left -= Math.min(left, BLOCK_BYTES)) yield Buffer.alloc(Math.min(left, BLOCK_BYTES))
}

/** A longer name stands in an extended header before (POSIX.1-2001, "pax"). */
function headers(entry: Entry): Buffer {
  const name = Buffer.from(entry.kind === 'file' ? entry.path : `${entry.path}/`)
  const bytes = entry.kind === 'file' ? entry.bytes : 0
  const own = header({ name, mode: entry.mode, bytes, type: entry.kind === 'file' ? '0' : '5' })
  if (name.length <= NAME_MAX_BYTES) return own
  const record = paxRecord(`path=${name.toString()}\n`)
  const before = header({ name: Buffer.from('pax'), mode: 0o600, bytes: record.length, type: 'x' })
  return Buffer.concat([before, record, padding(record.length), own])
}

/** Begins with its own length in decimal digits. */
function paxRecord(content: string): Buffer {
  const bytes = Buffer.byteLength(content) + 1
  const length = [1, 2, 3, 4, 5].map((digits) => bytes + digits).find((all, at) => String(all).length === at + 1)
  return Buffer.from(`${length} ${content}`)
}

function padding(bytes: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES)
}

interface Header {
  readonly name: Buffer
  readonly mode: number
  readonly bytes: number
  readonly type: '0' | '5' | 'x'
}

function header({ name, mode, bytes, type }: Header): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES)
  block.set(name.subarray(0, NAME_MAX_BYTES))
  const octal = (value: number, place: number, digits: number) =>
    block.write(`${value.toString(8).padStart(digits, '0')}\0`, place)
  octal(mode & 0o777, 100, 7)
  octal(0, 108, 7) // uid
  octal(0, 116, 7) // gid
  octal(bytes, 124, 11)
  octal(0, 136, 11) // time of modification
  block.write('        ', 148) // the checksum counts as spaces
  block.write(type, 156)
  block.write('ustar\u000000', 257)
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  )
  block.write(' ', 155)
  return block
}
