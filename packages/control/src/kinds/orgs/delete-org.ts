import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { orgOf } from '../../platform/http/caller.ts'
import { closeOrg, markOrgDeleted } from './identity/org-statements.ts'

/**
 * `DELETE /v1/orgs/{id}`: hides the workspace from all members at once and revokes its keys. The job in
 * {@link file://../sandboxes/deleted-orgs.ts} ends its sandboxes, and removes the workspace once it is empty.
 */
export function deleteOrg(app: FastifyInstance, { database }: OrgsContext): void {
  app.delete('/v1/orgs/:id', {
    config: {
      audit: 'own',
      credential: 'jwt',
      loads: 'org',
      permission: 'workspace:delete',
      docs: {
        summary: 'Delete a workspace and everything in it',
        tag: 'Workspaces',
        status: 204,
        errors: ['notFound'],
      },
    },
    handler: async (request, reply) => {
      const { id } = orgOf(request)
      await transaction(database.pool, async (client) => {
        const [deleted] = await markOrgDeleted(client, id)
        if (deleted === undefined) throw new ApiError('notFound')
        await closeOrg(client, id)
        const event = { workspaceId: id, action: 'org.deleted', target: id, details: { ...deleted } } as const
        await recordAuditEvent(client, actorOf(request), event)
      })
      return reply.code(204).send()
    },
  })
}
