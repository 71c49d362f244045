import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import { invitation, type Invitation, invitationListQuery } from '@offshoot/contract/org'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { actorOf } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { orgOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import { INVITATION_COLUMNS, type InvitationRow, OPEN, removeInvitation } from './identity/invitation-statements.ts'
import { presentInvitation } from './post-members.ts'

const ORDER: ListOrder<InvitationRow> = newestFirst('invites', 'i')

/** `GET /v1/orgs/{id}/invites`: the open invitations, newest first. */
export function getInvites(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/orgs/:id/invites', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'members:manage',
      docs: {
        summary: 'List open invitations, newest first',
        tag: 'Workspaces',
        query: invitationListQuery,
        status: 200,
        answer: z.array(invitation),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply): Promise<Invitation[]> => {
      const query = parseWith(invitationListQuery, request.query)
      const { id } = orgOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: id,
        select: `select ${INVITATION_COLUMNS} from invitations i`,
        where: [
          sql`i.workspace_id = ${id}`,
          sql.raw(OPEN),
          ...equals('i.email', query.email?.toLowerCase()),
          ...equals('i.role', query.role),
          ...createdBetween('i.created_at', query),
        ],
        query,
      })
      return rows.map(presentInvitation)
    },
  })
}

/** `DELETE /v1/orgs/{id}/invites/{invite_id}`: makes the mailed token invalid. */
export function deleteInvite(app: FastifyInstance, { database }: OrgsContext): void {
  app.delete('/v1/orgs/:id/invites/:invite_id', {
    config: {
      audit: 'own',
      credential: 'jwt',
      loads: 'org',
      permission: 'members:manage',
      docs: { summary: 'Take an invitation back', tag: 'Workspaces', status: 204, errors: ['notFound'] },
    },
    handler: async (request, reply) => {
      const { id } = orgOf(request)
      const { invite_id: inviteId } = request.params as { invite_id: string }
      if (!isUuid(inviteId)) throw new ApiError('notFound')
      await transaction(database.pool, async (client) => {
        const [removed] = await removeInvitation(client, id, inviteId)
        if (removed === undefined) throw new ApiError('notFound')
        const event = { workspaceId: id, action: 'invitation.revoked', target: removed.email } as const
        await recordAuditEvent(client, actorOf(request), event)
      })
      return reply.code(204).send()
    },
  })
}
