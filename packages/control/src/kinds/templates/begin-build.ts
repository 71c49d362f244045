import type { BuildFields } from '@offshoot/contract/build'
import { ApiError } from '@offshoot/contract/errors'
import type { BuildId, WorkspaceId } from '@offshoot/contract/ids'
import { AgentRefused, refusalOf } from '../../fleet/agent-failure.ts'
import { beginOnAgent } from '../../fleet/build-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import type { BuildRow } from './build-row.ts'
import { insertBuild, removeBuild } from './build-statements.ts'
import type { BuildUpload } from './build-upload.ts'
import { templateByName } from './template-statements.ts'

/** PostgreSQL: unique_violation. */
const UNIQUE_VIOLATION = '23505'

/** @throws ApiError 409 if another template has the name */
export async function refuseTaken(
  { database }: BillingContext,
  workspaceId: WorkspaceId,
  { name, replace }: Pick<BuildFields, 'name' | 'replace'>,
): Promise<void> {
  const [row] = await templateByName(database.pool, workspaceId, name)
  if (row === undefined) return
  if (row.workspace_id === null) throw new ApiError('templateExists', { detail: `${name} is a global template` })
  if (!replace) throw new ApiError('templateExists', { detail: 'replace=true puts the new one in its place' })
}

/**
 * Begins a build. It inserts the row before it tells the agent to begin, and removes it if the agent refuses. If the
 * process dies in between, the row is later settled as lost, and the agent drops the upload.
 * @throws ApiError 409, 429, 502, 507
 */
export async function beginBuild(control: BillingContext, fields: BuildFields, upload: BuildUpload): Promise<BuildRow> {
  const { id, workspaceId, agent, requestId, bytes = 0 } = upload
  const { pool } = control.database
  const { replace: _replace, name, size_mb, cpu, memory_mb, start_cmd, ready_cmd } = fields
  const row = await addBuild(control, { id, workspaceId, agentId: agent.info.agent_id }, { name, size_mb, bytes })
  const commands = { ...(start_cmd !== undefined && { start_cmd }), ...(ready_cmd !== undefined && { ready_cmd }) }
  try {
    await beginOnAgent(agent.client, { id, name, size_mb, cpu, memory_mb, ...commands }, workspaceId, requestId)
  } catch (error) {
    await removeBuild(pool, id)
    throw explainBuildRefusal(error) ?? refusalOf(error)
  }
  return row
}

/** @throws ApiError 409 if a build with that name is in progress */
export async function addBuild(
  { database, lock }: BillingContext,
  { id, workspaceId, agentId }: { readonly id: BuildId; readonly workspaceId: string; readonly agentId: string },
  { name, size_mb, bytes }: Pick<BuildRow, 'name' | 'size_mb' | 'bytes'>,
): Promise<BuildRow> {
  const [row] = await insertBuild(database.pool, id, workspaceId, agentId, lock.number, name, size_mb, bytes).catch(
    (error: unknown) => {
      if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error
      throw new ApiError('templateExists', { detail: 'a build of this name has not ended' }, { cause: error })
    },
  )
  if (row === undefined) throw new Error('insert gave no row')
  return row
}

/** The error for an agent's refusal of a build; `undefined` for refusals that are not specific to builds. */
export function explainBuildRefusal(error: unknown): ApiError | undefined {
  if (!(error instanceof AgentRefused)) return undefined
  if (error.status === 429) return new ApiError('tooManyBuilds', error.body, { cause: error })
  return error.status === 507 ? new ApiError('templateStorage', {}, { cause: error }) : undefined
}
