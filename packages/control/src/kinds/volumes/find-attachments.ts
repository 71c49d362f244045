import type { AgentAttachment } from '@offshoot/contract/agent-volume'
import { ApiError } from '@offshoot/contract/errors'
import type { AgentId, WorkspaceId } from '@offshoot/contract/ids'
import type { CreateSandboxBody } from '@offshoot/contract/sandbox'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { volumesByName } from './volume-statements.ts'

/**
 * The volumes of a sandbox that is to be created, and the agent that has them; `null` without volumes.
 * @throws ApiError 404 with the name of an unknown volume, 409 if they are not all on one agent
 */
export async function findAttachments(
  { database }: Pick<BillingContext, 'database'>,
  workspaceId: WorkspaceId,
  wanted: NonNullable<CreateSandboxBody['volumes']>,
): Promise<{ readonly agentId: AgentId | null; readonly attachments: readonly AgentAttachment[] }> {
  if (wanted.length === 0) return { agentId: null, attachments: [] }
  // PostgreSQL cannot store NUL in a text, so no volume has such a name.
  const names = wanted.map(({ name }) => name).filter((name) => !name.includes('\0'))
  const rows = new Map((await volumesByName(database.pool, workspaceId, names)).map((row) => [row.name, row]))
  const found = wanted.map(({ name, read_only = false }) => {
    const row = rows.get(name)
    if (row === undefined) throw new ApiError('notFound', { detail: `unknown volume: ${name}` })
    return { agentId: row.agent_id, id: row.id, read_only }
  })
  const agents = new Set(found.map(({ agentId }) => agentId))
  if (agents.size > 1) throw new ApiError('conflict', { detail: 'the volumes are not on the same host' })
  const [agentId = null] = agents
  return { agentId, attachments: found.map(({ id, read_only }) => ({ id, read_only })) }
}
