import { refuse } from '../../../fleet/agent-failure.ts'
import { readListeners } from '../../../fleet/sandbox-calls.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'

/**
 * The ports that accept connections in a sandbox, as reported by its agent; none if the sandbox does not run.
 * @throws ApiError 502
 */
export async function listeningPorts(
  control: SandboxesContext,
  row: SandboxRow,
  requestId: string,
): Promise<ReadonlySet<number>> {
  if (row.status === 'creating' || row.status === 'failed') return new Set()
  const { ports } = await readListeners(liveAgent(control, row), subjectOf(row, requestId)).catch(refuse)
  return new Set(ports)
}
