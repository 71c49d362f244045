import type { WorkspaceId } from '@offshoot/contract/ids'
import type { Fleet } from '../../../fleet/fleet.ts'
import type { DrainableSandbox } from '../../../fleet/drain-statements.ts'
import { type Candidate, isOpen, isWilling, ranked } from '../../../fleet/placement/candidates.ts'

/** What the source is, or was when it answered last. */
interface Placed {
  /** `null`: it may come back to its host, which has lost it. */
  readonly agent_id: string | null
  readonly accelerator: string | null
  readonly qemu_version: string | null
}

/** What is to be there. */
type Wanted = Pick<DrainableSandbox, 'workspace_id' | 'tried'> & {
  /** Whether it has memory. Default: yes. */
  readonly is_bound?: boolean
}

/**
 * The hosts that may take a sandbox or an artifact, best first. Placement decides as for a new sandbox, but the copy can
 * bring what its template has. A host of another accelerator could not restore the memory. With another version of QEMU the sandbox may
 * have to boot from its disk, so such hosts come last.
 */
export function destinations(
  { agents, rules }: Fleet,
  source: Placed,
  { workspace_id: workspaceId, tried, is_bound: isBound = true }: Wanted,
): Candidate[] {
  const fitting = rules
    .allowed(agents, workspaceId as WorkspaceId)
    .filter(isOpen)
    .filter(({ info }) => info.agent_id !== source.agent_id)
    .filter(({ info }) => !isBound || info.accelerator === source.accelerator)
    .filter((agent) => isWilling(agent) && !tried.includes(agent.info.agent_id))
  const isAlike = ({ info }: Candidate) => info.qemu_version === source.qemu_version
  return ranked(fitting).toSorted((a, b) => Number(isAlike(b)) - Number(isAlike(a)))
}
