import { hierarchy, tree } from 'd3-hierarchy'

/** A sandbox or snapshot of a family, which may be deleted. */
export interface Relative {
  readonly id: string
  readonly kind: 'sandbox' | 'snapshot'
  /** Of whom it came: the forked sandbox, the sandbox of a snapshot, or the snapshot that a sandbox started from. */
  readonly parentId: string | null
  readonly name: string
  readonly link: 'template' | 'fork' | 'from_snapshot' | 'snapshot_of'
  readonly template: string
  /** The status of a sandbox, or `creating` or `ready` for a snapshot. `deleted` if somebody has deleted either. */
  readonly status: string
  readonly createdAt: string
  readonly deletedAt: string | null
  /** The memory that a sandbox may use. */
  readonly memoryBytes: number
  /** Of a snapshot on disk. */
  readonly sizeBytes: number | null
  /** Whether it is a child of a fork tree of which no winner was chosen yet. */
  readonly canBePromoted: boolean
}

export interface Placed {
  readonly relative: Relative
  /** Pixels of its upper left corner. */
  readonly x: number
  readonly y: number
}

/** Pixels of a node, and of the room around it. */
export const NODE = { width: 236, height: 82 } as const
const GAP = { x: 56, y: 16 } as const

/** The id of a node that the layout adds above relatives if the service no longer knows their common ancestor. */
const ROOT = ''

/**
 * The family without deleted ones from which nothing living came. The others stay: without its deleted ancestors, a
 * family falls apart.
 * @param here stays in any case
 */
export function withoutDeadEnds(family: readonly Relative[], here: string): readonly Relative[] {
  const byId = new Map(family.map((each) => [each.id, each]))
  const kept = new Set<string>()
  for (const each of family) {
    if (each.status === 'deleted' && each.id !== here) continue
    for (let at: Relative | undefined = each; at !== undefined && !kept.has(at.id);) {
      kept.add(at.id)
      at = at.parentId === null ? undefined : byId.get(at.parentId)
    }
  }
  return family.filter(({ id }) => kept.has(id))
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

/** The line from a relative's parent to it, as the data of an SVG path. */
export interface Link {
  readonly childId: string
  readonly curve: string
}

/** One line for each relative whose parent is in the picture, too. */
export function linksOf(placed: readonly Placed[]): readonly Link[] {
  const byId = new Map(placed.map((each) => [each.relative.id, each]))
  return placed.flatMap(({ relative: { id, parentId }, x, y }) => {
    const parent = parentId === null ? undefined : byId.get(parentId)
    if (parent === undefined) return []
    const [startX, startY, endY] = [parent.x + NODE.width, parent.y + NODE.height / 2, y + NODE.height / 2]
    const middleX = (startX + x) / 2
    return [{ childId: id, curve: `M${startX},${startY} C${middleX},${startY} ${middleX},${endY} ${x},${endY}` }]
  })
}

/** The sandboxes from which nothing else came. */
export function leavesOf(family: readonly Relative[]): readonly Relative[] {
  const parents = new Set(family.filter(({ status }) => status !== 'deleted').map(({ parentId }) => parentId))
  return family.filter(({ id, kind, status }) => kind === 'sandbox' && status === 'running' && !parents.has(id))
}
