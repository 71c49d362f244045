/** Metadata of a file, from the guest. Describes a symbolic link itself, not its target. */
export interface FileEntry {
  /** Last segment of the path: any bytes but NUL and `/`. Empty in the result of a read. */
  readonly name: Buffer
  readonly type: 'file' | 'dir' | 'symlink' | 'other'
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Bytes. */
  readonly size: number
  /** False when {@link size} is not the size of the content, as in /proc. */
  readonly isSizeKnown: boolean
  /** Unix time in milliseconds, with fractions. */
  readonly mtimeMs: number
  /** Target of a symbolic link; `null` for other kinds. */
  readonly target: Buffer | null
}

/** Size of the fixed part of a record. Name and target follow it. */
export const ENTRY_BYTES = 36

const KIND_MASK = 0o170000
const kinds: Readonly<Record<number, FileEntry['type']>> = {
  0o100000: 'file',
  0o040000: 'dir',
  0o120000: 'symlink',
}
const SIZE_UNKNOWN = 1

/** The number of bytes of name and target that follow the fixed part. */
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
