/**
 * Writes the `newc` cpio format, which the kernel unpacks as an initramfs
 * (Documentation/driver-api/early-userspace/buffer-format.rst). Unlike cpio(1), it needs no root for device nodes, and
 * equal input gives equal bytes.
 */
export type CpioEntry =
  | { readonly kind: 'folder'; readonly path: string; readonly mode: number }
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly content: Buffer }
  | {
      readonly kind: 'character-device'
      readonly path: string
      readonly mode: number
      readonly major: number
      readonly minor: number
    }

const FILE_TYPE = { folder: 0o040000, file: 0o100000, 'character-device': 0o020000 } as const
const TRAILER = 'TRAILER!!!'

/** @param entries folders before their contents; paths without a leading slash */
export function cpioArchive(entries: readonly CpioEntry[]): Buffer {
  const parts = entries.flatMap((entry, index) => record(entry, index + 1))
  return Buffer.concat([...parts, ...record({ kind: 'file', path: TRAILER, mode: 0, content: Buffer.alloc(0) }, 0)])
}

function record(entry: CpioEntry, inode: number): Buffer[] {
  const content = entry.kind === 'file' ? entry.content : Buffer.alloc(0)
  const [major, minor] = entry.kind === 'character-device' ? [entry.major, entry.minor] : [0, 0]
  const name = Buffer.from(`${entry.path}\0`)
  const fields = [
    inode,
    entry.path === TRAILER ? 0 : FILE_TYPE[entry.kind] | entry.mode,
    0, // uid
    0, // gid
    entry.kind === 'folder' ? 2 : 1, // links
    0, // mtime: constant, for equal bytes
    content.length,
    0, // device of the source file
    0,
    major,
    minor,
    name.length,
    0, // checksum, unused in this format
  ]
  const header = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`)
  return [header, name, padding(header.length + name.length), content, padding(content.length)]
}

/** The header with the name, and the content, are each padded to four bytes. */
function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4)
}
