import { readFile } from 'node:fs/promises'

/** User ids (or group ids) of the host that an unprivileged user may map into user namespaces: a line of /etc/subuid. */
export interface IdRange {
  readonly first: number
  readonly count: number
}

/** The files of subordinate user and group ids (subuid(5)). */
export const SUBORDINATE_FILES = { uids: '/etc/subuid', gids: '/etc/subgid' } as const

/**
 * The ids inside the user namespace, beside 0, which is the user:
 * - those of a Debian image, with `nobody`;
 * - those of VMs (`machine/slots/slots.ts` of the agent), one for each slot.
 */
const INSIDE: readonly IdRange[] = [
  { first: 1, count: 59_999 },
  { first: 65_534, count: 1 },
  { first: 200_000, count: 4096 },
]
/** An administrator usually gives a user 65,536 ids. */
export const NEEDED_IDS = INSIDE.reduce((sum, { count }) => sum + count, 0)

/** @param text of /etc/subuid @param user its name and its id, of which either may stand in the file */
export function rangesOf(text: string, user: { readonly name: string; readonly id: number }): IdRange[] {
  return text.split('\n').flatMap((line) => {
    const [owner, first, count] = line.trim().split(':')
    if (owner !== user.name && owner !== String(user.id)) return []
    const range = { first: Number(first), count: Number(count) }
    return Number.isSafeInteger(range.first) && Number.isSafeInteger(range.count) && range.count > 0 ? [range] : []
  })
}

/** The first id above all ranges of the file, and above those that Debian gives to users and groups. */
export function firstFreeId(text: string): number {
  const ends = text.split('\n').map((line) => {
    const [, first, count] = line.trim().split(':').map(Number)
    return (first ?? 0) + (count ?? 0)
  })
  return Math.max(100_000, ...ends.filter(Number.isSafeInteger))
}

/** Without the file, no user has ids. */
export async function readSubordinateFile(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
}

/**
 * Arguments of newuidmap(1) after the process id: triples of an id inside, an id of the host, and a count.
 * @param own the user's own id, which is 0 inside
 * @returns `null` if the ranges hold fewer than {@link NEEDED_IDS} ids
 */
export function idMap(own: number, ranges: readonly IdRange[]): string[] | null {
  const map = [0, own, 1]
  const left = ranges.map((range) => ({ ...range }))
  for (const wanted of INSIDE) {
    let { first, count } = wanted
    while (count > 0) {
      const range = left.find((each) => each.count > 0)
      if (range === undefined) return null
      const taken = Math.min(count, range.count)
      map.push(first, range.first, taken)
      first += taken
      count -= taken
      range.first += taken
      range.count -= taken
    }
  }
  return map.map(String)
}
