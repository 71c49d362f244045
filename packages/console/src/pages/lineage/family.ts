import { hierarchy, tree } from 'd3-hierarchy'

/** A sandbox or snapshot of a family, which may be deleted. */
export interface Relative {
  readonly id: string
  readonly kind: 'sandbox' | 'snapshot'
  /** Of whom it came: the forked sandbox, the sandbox of a snapshot, or the snapshot that a sandbox started from. */
  readonly parentId: string | null
  readonly name: string
  /** State of a sandbox; `deleted` for what is gone. */
  readonly status: string
  readonly createdAt: string
  /** The children of one fork have the same. */
  readonly forkTreeId: string | null
}

export interface Placed {
  readonly relative: Relative
  /** Pixels of its upper left corner. */
  readonly x: number
  readonly y: number
}

/** Pixels of a node, and of the room around it. */
export const NODE = { width: 200, height: 62 } as const
const GAP = { x: 56, y: 16 } as const

/** The id of the picture's own root, above families whose common ancestor is not known. */
const ROOT = ''

/**
 * Those that are related to `id`: everybody with the same oldest known ancestor.
 * @param all may hold other families
 */
export function familyOf(all: readonly Relative[], id: string): readonly Relative[] {
  const byId = new Map(all.map((each) => [each.id, each]))
  const oldest = (start: Relative): string => {
    const seen = new Set<string>()
    let current = start
    while (!seen.has(current.id)) {
      seen.add(current.id)
      const parent = current.parentId === null ? undefined : byId.get(current.parentId)
      // Children of one deleted parent are still siblings.
      if (parent === undefined) return current.parentId ?? current.id
      current = parent
    }
    return current.id
  }
  const own = byId.get(id)
  if (own === undefined) return []
  const ancestor = oldest(own)
  return all.filter((each) => oldest(each) === ancestor)
}

/** The same relatives, with a part of the id in names that several have. */
export function withDistinctNames(family: readonly Relative[]): readonly Relative[] {
  const counts = new Map<string, number>()
  for (const { name } of family) counts.set(name, (counts.get(name) ?? 0) + 1)
  return family.map((each) =>
    counts.get(each.name) === 1 ? each : { ...each, name: `${each.name} ${each.id.slice(0, ID_CHARS)}` },
  )
}

/** Characters of an id that tell siblings apart. */
const ID_CHARS = 4

/** Draws the family from left to right, the older of two siblings above. */
export function layOut(family: readonly Relative[]): readonly Placed[] {
  const ids = new Set(family.map(({ id }) => id))
  const children = Map.groupBy(
    family.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
    ({ parentId }) => (parentId !== null && ids.has(parentId) ? parentId : ROOT),
  )
  const top = { id: ROOT } as Relative
  const root = hierarchy(top, ({ id }) => children.get(id))
  const placed = tree<Relative>()
    .nodeSize([NODE.height + GAP.y, NODE.width + GAP.x])
    .separation(() => 1)(root)
  return placed
    .descendants()
    .filter(({ data }) => data !== top)
    .map(({ data, x, y }) => ({ relative: data, x: y - NODE.width - GAP.x, y: x }))
}

/** The sandboxes from which nothing else came. */
export function leavesOf(family: readonly Relative[]): readonly Relative[] {
  const parents = new Set(family.filter(({ status }) => status !== 'deleted').map(({ parentId }) => parentId))
  return family.filter(({ id, kind, status }) => kind === 'sandbox' && status === 'running' && !parents.has(id))
}
