import type { DatabaseSummary } from '@offshoot/sdk'

export interface Branch {
  readonly database: DatabaseSummary
  readonly children: readonly Branch[]
}

/** The whole tree that a database belongs to, from its oldest ancestor that still exists; `null` if it is not listed. */
export function treeOf(all: readonly DatabaseSummary[], id: string): Branch | null {
  const byId = new Map(all.map((each) => [each.id, each]))
  let root = byId.get(id)
  for (let parent = root; parent !== undefined; parent = byId.get(parent.parentId ?? '')) root = parent
  return root === undefined ? null : branchOf(root, all)
}

function branchOf(database: DatabaseSummary, all: readonly DatabaseSummary[]): Branch {
  const children = all
    .filter(({ parentId }) => parentId === database.id)
    .toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
    .map((child) => branchOf(child, all))
  return { database, children }
}
