/** Metadata of a file, from the guest. Describes a symbolic link itself, not its target. */
export interface FileEntry {
  /**
   * Last segment of the path: any bytes but NUL and `/`. In a list with a depth, the path relative to the listed folder.
   * Empty in the result of a read.
   */
  readonly name: Buffer
  readonly type: FileType
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

export type FileType = 'file' | 'dir' | 'symlink' | 'other'

/** An entry with the names of its owners, and with what a symbolic link leads to. */
export interface DetailedFileEntry extends FileEntry {
  /** `null` if the number has no name in the guest. */
  readonly userName: string | null
  readonly groupName: string | null
  /** The file at the end of a symbolic link. `null` for other kinds, and if the user cannot reach it. */
  readonly linked: LinkedFile | null
}

export interface LinkedFile {
  /** Absolute, without links; `null` if it has no path. */
  readonly path: Buffer | null
  readonly type: FileType
  readonly mode: number
}

/** Size of the fixed part of a record. Name and target follow it. */
export const ENTRY_BYTES = 36
/** Size of the fixed part of a detailed record, which begins with a plain one. */
const DETAILED_ENTRY_BYTES = 42

const KIND_MASK = 0o170000
const kinds: Readonly<Record<number, FileType>> = {
  0o100000: 'file',
  0o040000: 'dir',
  0o120000: 'symlink',
}
const SIZE_UNKNOWN = 1

/** The number of bytes of name and target that follow the fixed part. */
function entryTextBytes(fixed: Buffer): number {
  return fixed.readUInt16LE(32) + fixed.readUInt16LE(34)
}

function decodeMode(mode: number): { readonly type: FileType; readonly mode: number } {
  return { type: kinds[mode & KIND_MASK] ?? 'other', mode: mode & 0o7777 }
}

/** @param text may go on after name and target */
export function decodeEntry(fixed: Buffer, text: Buffer): FileEntry {
  const nameBytes = fixed.readUInt16LE(32)
  const { type, mode } = decodeMode(fixed.readUInt16LE(0))
  return {
    name: text.subarray(0, nameBytes),
    type,
    mode,
    uid: fixed.readUInt32LE(4),
    gid: fixed.readUInt32LE(8),
    size: Number(fixed.readBigUInt64LE(12)),
    isSizeKnown: (fixed.readUInt16LE(2) & SIZE_UNKNOWN) === 0,
    mtimeMs: Number(fixed.readBigInt64LE(20)) * 1000 + fixed.readUInt32LE(28) / 1e6,
    target: type === 'symlink' ? text.subarray(nameBytes, entryTextBytes(fixed)) : null,
  }
}

function decodeDetailedEntry(fixed: Buffer, text: Buffer): DetailedFileEntry {
  const targetMode = fixed.readUInt16LE(36)
  const pathAt = entryTextBytes(fixed)
  const userAt = pathAt + fixed.readUInt16LE(38)
  const groupAt = userAt + fixed.readUInt8(40)
  return {
    ...decodeEntry(fixed, text),
    userName: text.toString('utf8', userAt, groupAt) || null,
    groupName: text.toString('utf8', groupAt) || null,
    linked:
      targetMode === 0
        ? null
        : { path: userAt === pathAt ? null : text.subarray(pathAt, userAt), ...decodeMode(targetMode) },
  }
}

/** How to read one kind of record. */
export interface EntryFormat {
  readonly fixedBytes: number
  /** The number of bytes that follow the fixed part. */
  textBytes(fixed: Buffer): number
  decode(fixed: Buffer, text: Buffer): DetailedFileEntry
}

/** From a guest of an earlier release, which tells no names and follows no links. */
export const plainEntries: EntryFormat = {
  fixedBytes: ENTRY_BYTES,
  textBytes: entryTextBytes,
  decode: (fixed, text) => ({ ...decodeEntry(fixed, text), userName: null, groupName: null, linked: null }),
}

export const detailedEntries: EntryFormat = {
  fixedBytes: DETAILED_ENTRY_BYTES,
  textBytes: (fixed) => entryTextBytes(fixed) + fixed.readUInt16LE(38) + fixed.readUInt8(40) + fixed.readUInt8(41),
  decode: decodeDetailedEntry,
}
