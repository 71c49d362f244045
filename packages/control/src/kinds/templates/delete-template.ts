import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { hostsOfArtifact } from '../../fleet/artifact-host-statements.ts'
import { removeFromHosts } from '../../fleet/remove-from-hosts.ts'
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
      const { id } = row
      if (id === null) throw new ApiError('templateGlobal')
      const hosts = await hostsOfArtifact(database.pool, id)
      await removeTemplateRow(database.pool, workspaceId, id)
      const subject = { id, kind: 'template', workspace_id: workspaceId, requestId: request.id } as const
      await removeFromHosts(control, hosts, subject)
      return reply.code(204).send()
    },
  })
}
