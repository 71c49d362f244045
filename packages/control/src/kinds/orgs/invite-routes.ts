import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import { invitation, type Invitation } from '@offshoot/contract/org'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { actorOf } from '../../platform/audit/actor.ts'
import { recordDeed } from '../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './orgs-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { orgOf } from '../../platform/http/caller.ts'
import { invitationsOfOrg, removeInvitation } from './invitation-statements.ts'
import { presentInvitation } from './post-members.ts'

/** `GET /v1/orgs/{id}/invites`: the open invitations. */
export function getInvites(app: FastifyInstance, { database }: OrgsContext): void {
  app.get('/v1/orgs/:id/invites', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'members:manage',
      docs: {
        summary: 'List open invitations',
        tag: 'Workspaces',
        status: 200,
        answer: z.array(invitation),
        errors: ['notFound'],
      },
    },
    handler: async (request): Promise<Invitation[]> =>
      (await invitationsOfOrg(database.pool, orgOf(request).id)).map(presentInvitation),
  })
}

/** `DELETE /v1/orgs/{id}/invites/{invite_id}`: makes the mailed token invalid. */
export function deleteInvite(app: FastifyInstance, { database }: OrgsContext): void {
  app.delete('/v1/orgs/:id/invites/:invite_id', {
    config: {
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
        const deed = { workspaceId: id, action: 'invitation.revoked', target: removed.email } as const
        await recordDeed(client, actorOf(request), deed)
      })
      return reply.code(204).send()
    },
  })
}
