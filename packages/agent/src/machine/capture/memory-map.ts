import { runAt, type MemoryBase } from './memory-base.ts'
import { PAGE_BYTES } from './page-runs.ts'

/** One line of /proc/PID/maps, as far as it matters here. */
export interface Mapping {
  readonly start: number
  readonly end: number
  /** Of the file, bytes. */
  readonly offset: number
  /** 0: of no file. */
  readonly inode: number
}

/** Where a guest's memory lies in QEMU. */
export interface GuestMemory {
  readonly start: number
  readonly bytes: number
  /** Parts of it that are not of the bake's file: of an earlier checkpoint's pages. */
  readonly foreign: readonly Mapping[]
}

const LINE = /^([0-9a-f]+)-([0-9a-f]+) \S+ ([0-9a-f]+) \S+ (\d+)/

/** @param maps content of /proc/PID/maps. Addresses of user space have 47 bits: numbers hold them. */
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
 * Finds a guest's memory by the file of its bake. Where not one page of that file is mapped any more, because
 * checkpoints had them all, it is found by one of those, or is the one file mapping of just that size.
 *
 * @throws Error when it is not there as a whole
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
