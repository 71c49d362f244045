import { ApiError } from '@offshoot/contract/errors'
import { removeHostQuery } from '@offshoot/contract/host'
import { isUuid } from '@offshoot/contract/ids'
import type { FastifyInstance } from 'fastify'
import { AFTER_EVERY_RECORD, failSandboxesOf, retireAgent } from '../../../fleet/agent-statements.ts'
import { objectsOfHost, removeJoinedHost } from '../../../fleet/host-statements.ts'
import { leaveArtifacts } from '../../../fleet/artifact-host-statements.ts'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseWith } from '../../../platform/http/body.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

/**
 * `DELETE /v1/admin/hosts/{id}`: removes a host that has joined. Its certificate is renewed no more, and control and
 * edges end every connection to it. A host that still has objects is removed only for a reason, which the audit log
 * records. Its sandboxes become `failed` then.
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
        query: removeHostQuery,
        status: 204,
        errors: ['invalidField', 'notFound', 'conflict'],
      },
    },
    handler: async (request, reply) => {
      const { id } = request.params as { id: string }
      const { reason } = parseWith(removeHostQuery, request.query)
      if (!isUuid(id)) throw new ApiError('notFound')
      await transaction(database.pool, async (client) => {
        const [removed] = await removeJoinedHost(client, id)
        if (removed === undefined) throw new ApiError('notFound')
        // From here on, no sandbox arrives.
        await retireAgent(client, id, reason ?? null)
        await leaveArtifacts(client, id)
        const [objects] = await objectsOfHost(client, id)
        if (reason === undefined) refuseUnlessEmpty(objects)
        // A reconciliation of the host may be under way, and has a list in which they run.
        await failSandboxesOf(client, [id], AFTER_EVERY_RECORD)
        const details = { url: removed.url, ...objects, ...(reason !== undefined && { reason }) }
        const event = { workspaceId: null, action: 'host.removed', target: id, details } as const
        await recordAuditEvent(client, actorOf(request), event)
      })
      // Other processes see it within a second.
      await joinedHosts.refresh()
      return reply.code(204).send()
    },
  })
}

/** @throws ApiError 409 */
function refuseUnlessEmpty(objects: Readonly<Record<string, number>> = {}): void {
  const left = Object.entries(objects).filter(([, count]) => count > 0)
  if (left.length === 0) return
  const found = left.map(([kind, count]) => `${kind}: ${count}`).join(', ')
  throw new ApiError('conflict', { detail: `the host is not empty (${found}); a reason removes it nevertheless` })
}
