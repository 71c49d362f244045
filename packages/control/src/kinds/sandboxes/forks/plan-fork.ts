import { randomUUID } from 'node:crypto'
import type { Manager, SandboxRow } from '../../../fleet/sandbox-row.ts'

export interface ForkRequest {
  readonly parent: SandboxRow
  /** Of a fork tree; `null` for a single fork. */
  readonly count: number | null
  /** Of the children, where whoever asks has chosen them. */
  readonly ids?: readonly string[]
  /** Of the children, instead of their parent's. */
  readonly metadata: Record<string, string> | undefined
  /** Whose the children are from the first; without one they are the workspace's own. */
  readonly manager?: Manager
}

export interface PlannedChild {
  readonly id: string
  readonly index: number
  readonly metadata: Record<string, string>
  readonly volumes: SandboxRow['volumes']
}

/** All that a fork will be, chosen before anything of it exists. */
export interface ForkPlan {
  readonly snapshotId: string
  readonly treeId: string | null
  readonly children: readonly PlannedChild[]
  /** What the children lack that their parent has, in sentences. */
  readonly warnings: readonly string[]
}

export function planFork({ parent, count, metadata, ids = [] }: ForkRequest): ForkPlan {
  const treeId = count === null ? null : randomUUID()
  // A volume takes one writer at a time, and that is the parent.
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

/** A child's place in its tree is not its own children's. */
function inherited({ metadata, fork_tree_id: treeId }: SandboxRow): Record<string, string> {
  if (treeId === null) return metadata
  const { fork_tree_id: _tree, fork_index: _index, ...rest } = metadata
  return rest
}
