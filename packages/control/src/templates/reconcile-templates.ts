import type { Logger } from 'pino'
import type pg from 'pg'
import type { AgentClient } from '../agents/agent-client.ts'
import { orLog } from '../agents/or-log.ts'
import type { ReconcileBrake } from '../agents/reconcile-brake.ts'
import { deleteTemplateOnAgent, listTemplates } from '../agents/build-calls.ts'
import { templateIdsOfAgent } from './template-statements.ts'

export interface ReconcileTemplatesOptions {
  readonly pool: pg.Pool
  readonly client: AgentClient
  readonly agentId: string
  readonly log: Logger
  readonly brake: ReconcileBrake
}

/** Deletes, where the brake allows it, an agent's templates that no row names: replaced ones, deleted ones, those of workspaces that are no more. */
export async function reconcileTemplates(
  { pool, client, agentId, log, brake }: ReconcileTemplatesOptions,
  requestId: string,
): Promise<void> {
  const templates = await listTemplates(client, requestId)
  if (templates.length === 0) return
  const named = new Set((await templateIdsOfAgent(pool, agentId)).map(({ id }) => id))
  const strays = templates.filter((template) => !named.has(template.id))
  for (const { id, workspace_id: workspaceId } of await brake.deletable('template', strays)) {
    log.info({ agent: agentId, template: id }, 'template of a removed row: deleting it')
    await orLog(log, { agent: agentId, template: id }, deleteTemplateOnAgent(client, { id, workspaceId, requestId }))
  }
}
