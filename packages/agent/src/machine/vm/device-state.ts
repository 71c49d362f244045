/**
 * The format of `xen-save-devices-state` (QEMU, migration/savevm.c): a magic number, a version, and a section for each
 * device:
 *
 *     0x04 | id u32 | name bytes u8 | name | instance u32 | version u32 | data | 0x7e | id u32
 *
 * then 0x00. Integers are big-endian. The length of the data is not stored: a section ends where its footer is followed by
 * the next section or by the end.
 */
const MAGIC = 0x5145_564d
const VERSION = 3
const HEAD_BYTES = 8
const FULL_SECTION = 0x04
const FOOTER = 0x7e
const END = 0x00
const FOOTER_BYTES = 5

export interface Section {
  readonly name: string
  readonly bytes: Buffer
}

interface Header extends Omit<Section, 'bytes'> {
  readonly id: number
  readonly dataStart: number
}

/** All sections of a state, in their order. Together with head and end they are the whole state. @throws Error */
export function sectionsOf(state: Buffer): Section[] {
  if (state.length < HEAD_BYTES || state.readUInt32BE(0) !== MAGIC || state.readUInt32BE(4) !== VERSION) {
    throw new Error('no device state that we know')
  }
  const sections: Section[] = []
  let at = HEAD_BYTES
  while (state[at] !== END || at !== state.length - 1) {
    const header = readHeader(state, at)
    if (header === null) throw new Error(`the device state makes no sense at byte ${at}`)
    const next = endOf(state, header)
    sections.push({ name: header.name, bytes: state.subarray(at, next) })
    at = next
  }
  return sections
}

/** Composes a state of these sections. A device without a section starts as at power-on. */
export function stateOf(sections: readonly Section[]): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(MAGIC, 0)
  head.writeUInt32BE(VERSION, 4)
  return Buffer.concat([head, ...sections.map(({ bytes }) => bytes), Buffer.from([END])])
}

function readHeader(state: Buffer, start: number): Header | null {
  const nameBytes = state[start + 5] ?? 0
  const dataStart = start + 6 + nameBytes + 8
  if (state[start] !== FULL_SECTION || nameBytes === 0 || dataStart > state.length) return null
  const name = state.toString('latin1', start + 6, start + 6 + nameBytes)
  return /^[\x21-\x7e]+$/.test(name) ? { id: state.readUInt32BE(start + 1), name, dataStart } : null
}

/** The offset of the next section, or of the end. */
function endOf(state: Buffer, { id, name, dataStart }: Header): number {
  const footer = Buffer.alloc(FOOTER_BYTES, FOOTER)
  footer.writeUInt32BE(id, 1)
  for (let at = state.indexOf(footer, dataStart); at >= 0; at = state.indexOf(footer, at + 1)) {
    const next = at + FOOTER_BYTES
    // Data may look like a footer, but hardly like a footer and the next section.
    if (readHeader(state, next) !== null || (next === state.length - 1 && state[next] === END)) return next
  }
  throw new Error(`section ${name} of the device state has no end`)
}
