/**
 * Writes the `newc` cpio format, which the kernel unpacks as an initramfs (Documentation/driver-api/early-userspace/buffer-format.rst).
 * Ours rather than the program's, because a device node in an archive takes no root here and the same input gives the same bytes.
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

/** @param entries folders before what is in them; paths without a slash at the start */
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
    0, // mtime: the same bytes every time
    content.length,
    0, // device the archive was made on
    0,
    major,
    minor,
    name.length,
    0, // checksum, unused in this format
  ]
  const header = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`)
  return [header, name, padding(header.length + name.length), content, padding(content.length)]
}

/** Header with name, and content, each end on a multiple of four bytes. */
function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4)
}
