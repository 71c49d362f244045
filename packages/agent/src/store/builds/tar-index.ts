import type { FileHandle } from 'node:fs/promises'

const BLOCK_BYTES = 512
const MAX_NAME_BYTES = 65_536
/** Maximum entries of an image archive. */
const MAX_ENTRIES = 10_000

export interface TarEntry {
  /** Without a leading `./` and trailing slashes. */
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link' | 'other'
  /** Target of a link. */
  readonly target: string
  /** Offset of the content. */
  readonly offset: number
  readonly bytes: number
}

/**
 * Lists the entries of a tar archive without reading their content. `null` if `isWanted` rejects an entry, and for anything that is
 * not an intact archive: the guest that unpacks it reports the error.
 */
export async function readTarIndex(
  file: FileHandle,
  bytes: number,
  isWanted: (entry: TarEntry) => boolean,
): Promise<ReadonlyMap<string, TarEntry> | null> {
  const entries = new Map<string, TarEntry>()
  let longName: string | null = null
  const block = Buffer.alloc(BLOCK_BYTES)
  for (let at = 0; at + BLOCK_BYTES <= bytes;) {
    await file.read(block, 0, BLOCK_BYTES, at)
    if (block.every((byte) => byte === 0)) return entries
    const size = readNumber(block, 124, 12)
    if (size === null || !isSumRight(block)) return null
    const offset = at + BLOCK_BYTES
    const kind = String.fromCharCode(block[156] ?? 0)
    at = offset + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES
    if (kind === 'x' || kind === 'L') {
      longName = (await readLongName(file, kind, offset, size)) ?? longName
      continue
    }
    if (kind === 'g') continue
    const name = cleanName(longName ?? shortName(block))
    longName = null
    const entry = { name, kind: kindOf(kind), target: text(block, 157, 100), offset, bytes: size }
    if (name !== '' && !isWanted(entry)) return null
    if (entries.size === MAX_ENTRIES) return null
    if (name !== '') entries.set(name, entry)
  }
  return null
}

async function readLongName(file: FileHandle, kind: string, offset: number, bytes: number): Promise<string | null> {
  if (bytes > MAX_NAME_BYTES) return null
  const content = Buffer.alloc(bytes)
  await file.read(content, 0, bytes, offset)
  if (kind === 'L') return text(content, 0, bytes)
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(content.toString('utf8'))?.[1] ?? null
}

function kindOf(kind: string): TarEntry['kind'] {
  if (kind === '0' || kind === '\0' || kind === '7') return 'file'
  return kind === '5' ? 'folder' : kind === '1' || kind === '2' ? 'link' : 'other'
}

function shortName(block: Buffer): string {
  const prefix = block.toString('latin1', 257, 263) === 'ustar\0' ? text(block, 345, 155) : ''
  return prefix === '' ? text(block, 0, 100) : `${prefix}/${text(block, 0, 100)}`
}

function cleanName(name: string): string {
  return name
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')
}

function text(block: Buffer, at: number, bytes: number): string {
  const field = block.subarray(at, at + bytes)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end === -1 ? bytes : end)
}

/** Parses octal digits, or big-endian binary if the highest bit is set. `null` if it is neither, or too large. */
function readNumber(block: Buffer, at: number, bytes: number): number | null {
  const first = block[at] ?? 0
  if ((first & 0x80) !== 0) {
    let value = BigInt(first & 0x7f)
    for (const byte of block.subarray(at + 1, at + bytes)) value = (value << 8n) | BigInt(byte)
    return value <= BigInt(Number.MAX_SAFE_INTEGER / 2) ? Number(value) : null
  }
  const digits = text(block, at, bytes).trim()
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : null
}

function isSumRight(block: Buffer): boolean {
  let sum = 0
  for (const [at, byte] of block.entries()) sum += at >= 148 && at < 156 ? 32 : byte
  return readNumber(block, 148, 8) === sum
}
