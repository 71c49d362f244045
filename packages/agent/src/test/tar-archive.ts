const BLOCK_BYTES = 512

/** One entry of a test archive, valid or not. */
export interface TarItem {
  readonly name: string
  /** `0` file, `1` hard link, `2` link, `3` character device, `5` folder, `6` FIFO, `x` pax header. */
  readonly kind?: string
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
  readonly target?: string
  readonly content?: string | Buffer
  /** The size in the header, if it differs from the content's length. */
  readonly bytes?: number
}

/** @param end whether to append the two zero blocks that end an archive */
export function tarArchive(items: readonly TarItem[], end = true): Buffer {
  return Buffer.concat([...items.flatMap(entry), Buffer.alloc(end ? 2 * BLOCK_BYTES : 0)])
}

/** A pax header for the next entry. */
export function paxHeader(records: Readonly<Record<string, string>>): TarItem {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`
    let length = Buffer.byteLength(rest) + 1
    while (String(length).length + Buffer.byteLength(rest) !== length) length++
    return `${length}${rest}`
  })
  return { name: 'pax', kind: 'x', content: lines.join('') }
}

const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')

function entry({
  name,
  kind = '0',
  mode = 0o644,
  uid = 0,
  gid = 0,
  target = '',
  content = '',
  bytes,
}: TarItem): Buffer[] {
  const data = Buffer.from(content)
  const block = Buffer.alloc(BLOCK_BYTES)
  block.write(name, 0, 100)
  block.write(octal(mode, 7), 100)
  block.write(octal(uid, 7), 108)
  block.write(octal(gid, 7), 116)
  block.write(octal(bytes ?? data.length, 11), 124)
  block.write(octal(1_700_000_000, 11), 136)
  block.write('        ', 148)
  block.write(kind, 156)
  block.write(target, 157, 100)
  block.write('ustar\0', 257)
  block.write('00', 263)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${octal(sum, 6)}\0 `, 148)
  return [block, data, Buffer.alloc((BLOCK_BYTES - (data.length % BLOCK_BYTES)) % BLOCK_BYTES)]
}
