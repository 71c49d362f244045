import type { ReconcileOptions } from '../../fleet/agent-hooks.ts'
import { orLog } from '../../fleet/or-log.ts'
import { deleteTemplateOnAgent, listTemplates } from '../../fleet/build-calls.ts'
import { templateIdsOfAgent } from './template-statements.ts'

/**
 * Deletes an agent's templates that no row refers to, if the brake allows it: replaced and deleted ones, and those of
 * removed workspaces.
 */
export async function reconcileTemplates(
  { pool, client, agentId, log, brake }: ReconcileOptions,
  requestId: string,
): Promise<number> {
  const templates = await listTemplates(client, requestId)
  if (templates.length === 0) return 0
  const named = new Set((await templateIdsOfAgent(pool, agentId)).map(({ id }) => id))
  const strays = templates.filter((template) => !named.has(template.id))
  for (const { id, workspace_id: workspaceId } of await brake.deletable('template', strays)) {
    log.info({ agent: agentId, template: id }, 'template of a removed row: deleting it')
    await orLog(log, { agent: agentId, template: id }, deleteTemplateOnAgent(client, { id, workspaceId, requestId }))
  }
  return 0
}
