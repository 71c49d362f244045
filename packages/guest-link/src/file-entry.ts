/** A file of the guest; links are not followed. */
export interface FileEntry {
  /** The last part of its path, as it is: any bytes but NUL and `/`. Empty for the file that is being read. */
  readonly name: Buffer
  readonly type: 'file' | 'dir' | 'symlink' | 'other'
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Bytes. */
  readonly size: number
  /** False where the size says nothing of the content, as in /proc. */
  readonly isSizeKnown: boolean
  /** Milliseconds since 1970, with fractions. */
  readonly mtimeMs: number
  /** Where a link leads; `null` for others. */
  readonly target: Buffer | null
}

/** A record is this, then name and target. */
export const ENTRY_BYTES = 36

const KIND_MASK = 0o170000
const kinds: Readonly<Record<number, FileEntry['type']>> = {
  0o100000: 'file',
  0o040000: 'dir',
  0o120000: 'symlink',
}
const SIZE_UNKNOWN = 1

/** How many bytes of name and target follow the fixed part of a record. */
export function entryTextBytes(fixed: Buffer): number {
  return fixed.readUInt16LE(32) + fixed.readUInt16LE(34)
}

export function decodeEntry(fixed: Buffer, text: Buffer): FileEntry {
  const nameBytes = fixed.readUInt16LE(32)
  const mode = fixed.readUInt16LE(0)
  const type = kinds[mode & KIND_MASK] ?? 'other'
  return {
    name: text.subarray(0, nameBytes),
    type,
    mode: mode & 0o7777,
    uid: fixed.readUInt32LE(4),
    gid: fixed.readUInt32LE(8),
    size: Number(fixed.readBigUInt64LE(12)),
    isSizeKnown: (fixed.readUInt16LE(2) & SIZE_UNKNOWN) === 0,
    mtimeMs: Number(fixed.readBigInt64LE(20)) * 1000 + fixed.readUInt32LE(28) / 1e6,
    target: type === 'symlink' ? text.subarray(nameBytes) : null,
  }
}
