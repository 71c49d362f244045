import type { WorkspaceId } from '@offshoot/contract/ids'
import type { KnownAgent } from '../../../fleet/agent-directory.ts'
import type { Fleet } from '../../../fleet/fleet.ts'
import type { DrainableSandbox } from '../../../fleet/drain-statements.ts'
import { type Candidate, isOpen, isWilling, ranked } from '../../../fleet/placement/candidates.ts'

/**
 * The hosts that may take a sandbox, best first. Placement decides as for a new sandbox, but the copy can bring what its
 * template has. A host of another accelerator could not restore the memory. With another version of QEMU the sandbox may
 * have to boot from its disk, so such hosts come last.
 */
export function destinations(
  { agents, rules }: Fleet,
  source: KnownAgent,
  { workspace_id: workspaceId, tried }: DrainableSandbox,
): Candidate[] {
  const there = source.info
  const fitting = rules
    .allowed(agents, workspaceId as WorkspaceId)
    .filter(isOpen)
    .filter(({ info }) => info.accelerator === there?.accelerator && info.agent_id !== there.agent_id)
    .filter((agent) => isWilling(agent) && !tried.includes(agent.info.agent_id))
  const isAlike = ({ info }: Candidate) => info.qemu_version === there?.qemu_version
  return ranked(fitting).toSorted((a, b) => Number(isAlike(b)) - Number(isAlike(a)))
}
