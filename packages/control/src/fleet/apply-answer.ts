import type { AgentSandbox } from '@offshoot/contract/agent-api'
import type { Queryable } from '../platform/db/statement.ts'
import { applyStatus } from './record-statements.ts'
import type { SandboxRow } from './sandbox-row.ts'

/**
 * Stores what an agent has answered about a sandbox, as the record of it in the agent's log will.
 * @returns the row; `undefined` if the row knows something later, or there is none
 */
export async function applyAnswer(
  on: Queryable,
  { id, agent_id: agentId }: { readonly id: string; readonly agent_id: string },
  { last_seq: seq, status, boot_ms, boot_mode, guest_ip }: AgentSandbox,
): Promise<SandboxRow | undefined> {
  const [applied] = await applyStatus(on, id, agentId, seq, status, boot_ms, boot_mode, guest_ip)
  return applied
}
