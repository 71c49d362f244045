import type { ReconcileOptions } from '../../fleet/agent-hooks.ts'
import { deleteTemplateOnAgent, listTemplates } from '../../fleet/build-calls.ts'
import { templateIdsOfAgent } from './template-statements.ts'

/** Deletes an agent's templates that no row names: replaced ones, deleted ones, those of workspaces that are no more. */
export async function reconcileTemplates(
  { pool, client, agentId, log }: ReconcileOptions,
  requestId: string,
): Promise<number> {
  const templates = await listTemplates(client, requestId)
  if (templates.length === 0) return 0
  const named = new Set((await templateIdsOfAgent(pool, agentId)).map(({ id }) => id))
  for (const { id, workspace_id: workspaceId } of templates.filter((template) => !named.has(template.id))) {
    log.info({ agent: agentId, template: id }, 'template without a row: deleting it')
    await deleteTemplateOnAgent(client, { id, workspaceId, requestId })
  }
  return 0
}
