import { randomUUID } from 'node:crypto'
import type { Manager, SandboxRow } from '../../../fleet/sandbox-row.ts'

export interface ForkRequest {
  readonly parent: SandboxRow
  /** Number of children of a fork tree; `null` for a single fork. */
  readonly count: number | null
  /** Ids of the children, if the caller has chosen them. */
  readonly ids?: readonly string[]
  /** Metadata of the children, instead of their parent's. */
  readonly metadata: Record<string, string> | undefined
  /** The feature that owns the children. Absent: they are the workspace's own. */
  readonly manager?: Manager
}

export interface PlannedChild {
  readonly id: string
  readonly index: number
  readonly metadata: Record<string, string>
  readonly volumes: SandboxRow['volumes']
}

/** The ids and settings of a fork, chosen before any part of it exists. */
export interface ForkPlan {
  readonly snapshotId: string
  readonly treeId: string | null
  readonly children: readonly PlannedChild[]
  /** Texts about what the children lack in comparison with their parent. */
  readonly warnings: readonly string[]
}

export function planFork({ parent, count, metadata, ids = [] }: ForkRequest): ForkPlan {
  const treeId = count === null ? null : randomUUID()
  // A volume has one writer at a time, and the parent stays the writer.
  const volumes = parent.volumes.filter((volume) => volume.read_only)
  const withheld = parent.volumes.filter((volume) => !volume.read_only)
  const children = Array.from({ length: count ?? 1 }, (_, index) => ({
    id: ids[index] ?? randomUUID(),
    index,
    metadata: { ...(metadata ?? inherited(parent)), ...(treeId && { fork_tree_id: treeId, fork_index: `${index}` }) },
    volumes,
  }))
  const warnings = withheld.map(({ name }) => `volume ${name} is writable and stays with the parent`)
  return { snapshotId: randomUUID(), treeId, children, warnings }
}

/** A child's position in its tree is not inherited by its own children. */
function inherited({ metadata, fork_tree_id: treeId }: SandboxRow): Record<string, string> {
  if (treeId === null) return metadata
  const { fork_tree_id: _tree, fork_index: _index, ...rest } = metadata
  return rest
}
