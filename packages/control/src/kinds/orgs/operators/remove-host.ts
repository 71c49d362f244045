import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import { failSandboxesOf, retireAgent } from '../../../fleet/agent-statements.ts'
import { removeJoinedHost } from '../../../fleet/host-statements.ts'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

/**
 * `DELETE /v1/admin/hosts/{id}`: removes a host that has joined. Its certificate is renewed no more, and control and
 * edges end every connection to it. Its sandboxes become `failed`.
 */
export function removeHost(app: FastifyInstance, { database, joinedHosts }: OrgsContext): void {
  app.delete('/v1/admin/hosts/:id', {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Remove a host that has joined',
        tag: 'Operators',
        status: 204,
        errors: ['notFound'],
      },
    },
    handler: async (request, reply) => {
      const { id } = request.params as { id: string }
      if (!isUuid(id)) throw new ApiError('notFound')
      await transaction(database.pool, async (client) => {
        const [removed] = await removeJoinedHost(client, id)
        if (removed === undefined) throw new ApiError('notFound')
        await retireAgent(client, id)
        await failSandboxesOf(client, [id])
        const event = { workspaceId: null, action: 'host.removed', target: id, details: { url: removed.url } } as const
        await recordAuditEvent(client, actorOf(request), event)
      })
      // Other processes see it within a second.
      await joinedHosts.refresh()
      return reply.code(204).send()
    },
  })
}
