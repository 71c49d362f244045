import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { deleteTemplateOnAgent } from '../../fleet/build-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { removeTemplateRow, templateByName } from './template-statements.ts'

/** `DELETE /v1/templates/{name}`: no new sandbox can be created from it. Existing sandboxes keep running. */
export function deleteTemplate(app: FastifyInstance, control: BillingContext): void {
  const { database } = control
  app.delete('/v1/templates/:name', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Delete a template', tag: 'Templates', status: 204, errors: ['notFound', 'templateGlobal'] },
    },
    handler: async (request, reply) => {
      const { name } = request.params as { name: string }
      const { workspaceId } = callerOf(request)
      const [row] = name.includes('\0') ? [] : await templateByName(database.pool, workspaceId, name)
      if (row === undefined) throw new ApiError('notFound')
      const { id, agent_id: agentId } = row
      if (id === null || agentId === null) throw new ApiError('templateGlobal')
      await removeTemplateRow(database.pool, workspaceId, id)
      // If the agent cannot be reached now, reconciliation deletes the template later.
      await deleteOn(control, agentId, { id, workspaceId, requestId: request.id })
      return reply.code(204).send()
    },
  })
}

async function deleteOn(
  { fleet, log }: BillingContext,
  agentId: string,
  of: Parameters<typeof deleteTemplateOnAgent>[1],
) {
  const agent = fleet.byId(agentId)
  if (agent === undefined) return
  await deleteTemplateOnAgent(agent.client, of).catch((error: unknown) => {
    log.warn({ err: error, template: of.id }, 'template left to the reconciliation')
  })
}
