import { type HostDetail, hostDetail, patchHostBody } from '@offshoot/contract/host'
import type { FastifyInstance } from 'fastify'
import { describeJoiningHost, lockJoinedHost } from '../../../fleet/host-statements.ts'
import { describeAgent } from '../../../fleet/host-state-statements.ts'
import { actorOf } from '../../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../../platform/audit/audit-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { parseBody } from '../../../platform/http/body.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { findHost } from './host-cordon.ts'

/** `PATCH /v1/admin/hosts/{id}`: the labels and the zone of a host, also while it is lost or joining. `self` as in its other routes. */
export function patchHost(app: FastifyInstance, control: OrgsContext): void {
  app.patch('/v1/admin/hosts/:id', {
    config: {
      audit: 'own',
      credential: 'operator',
      operatorRole: 'operator',
      docs: {
        summary: 'Label a host and put it in a zone',
        tag: 'Operators',
        body: patchHostBody,
        status: 200,
        answer: hostDetail,
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request): Promise<HostDetail> => {
      const { labels, zone } = parseBody(request, patchHostBody)
      const { id } = await findHost(control, request)
      await transaction(control.database.pool, async (client) => {
        const given = labels === undefined ? null : JSON.stringify(labels)
        const description = [id, given, zone !== undefined, zone ?? null] as const
        await lockJoinedHost(client, id)
        const [agent] = await describeAgent(client, ...description)
        const [changed = agent] = await describeJoiningHost(client, ...description)
        if (changed === undefined) return
        const event = { workspaceId: null, action: 'host.updated', target: id, details: { ...changed } } as const
        await recordAuditEvent(client, actorOf(request), event)
      })
      // The other processes read the rows within a second.
      await control.fleet.refreshHosts()
      return findHost(control, request)
    },
  })
}
