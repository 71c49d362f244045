import { runAt, type MemoryBase } from './memory-base.ts'
import { PAGE_BYTES } from './page-runs.ts'

/** The needed fields of a line of /proc/PID/maps. */
export interface Mapping {
  readonly start: number
  readonly end: number
  /** Offset in the file, in bytes. */
  readonly offset: number
  /** 0: not mapped from a file. */
  readonly inode: number
}

/** The place of a guest's memory in QEMU. */
export interface GuestMemory {
  readonly start: number
  readonly bytes: number
  /** The parts that are not mapped from the bake's file but from pages of an earlier checkpoint. */
  readonly foreign: readonly Mapping[]
}

const LINE = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ (\d+)/

/** @param maps content of /proc/PID/maps. Addresses of user space have 47 bits, which fit in a number. */
export function parseMaps(maps: string): Mapping[] {
  const mappings: Mapping[] = []
  for (const line of maps.split('\n')) {
    const [, start = '', end = '', offset = '', inode = ''] = LINE.exec(line) ?? []
    if (start === '') continue
    mappings.push({
      start: Number.parseInt(start, 16),
      end: Number.parseInt(end, 16),
      offset: Number.parseInt(offset, 16),
      inode: Number(inode),
    })
  }
  return mappings
}

/**
 * Finds a guest's memory by the file of its bake. If no page of that file is mapped any more, because checkpoints cover
 * them all, finds it by one of those, or by the only file mapping of exactly that size.
 * @throws Error if it is not completely mapped
 */
export function findGuestMemory(
  mappings: readonly Mapping[],
  bakeInode: number,
  bytes: number,
  bases: readonly MemoryBase[] = [],
): GuestMemory {
  const start = startOf(mappings, bakeInode, bytes, bases)
  if (start === null) throw new Error("QEMU does not map its bake's memory")
  const inside = mappings.filter((mapping) => mapping.end > start && mapping.start < start + bytes)
  const covered = inside.reduce((sum, mapping) => sum + mapping.end - mapping.start, 0)
  if (covered !== bytes) throw new Error(`QEMU maps ${covered} bytes where its guest's memory of ${bytes} should be`)
  const foreign = inside.filter(({ inode, offset, start: at }) => inode !== bakeInode || at - offset !== start)
  return { start, bytes, foreign }
}

function startOf(
  mappings: readonly Mapping[],
  bakeInode: number,
  bytes: number,
  bases: readonly MemoryBase[],
): number | null {
  const known = mappings.find(({ inode }) => inode === bakeInode)
  if (known !== undefined) return known.start - known.offset
  for (const { inode, offset, start } of mappings) {
    const run = runAt(
      bases.find((base) => base.inode === inode),
      offset / PAGE_BYTES,
    )
    if (run !== null) return start - run.firstPage * PAGE_BYTES
  }
  const whole = mappings.find(({ inode, offset, start, end }) => inode !== 0 && offset === 0 && end - start === bytes)
  return whole?.start ?? null
}
