import { invitation, type Invitation, inviteBody } from '@offshoot/contract/org'
import type { FastifyInstance } from 'fastify'
import { actorOf } from '../../platform/audit/actor.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { orgOf, userOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import type { InvitationRow } from './identity/invitation-statements.ts'
import { inviteMember } from './invite-member.ts'

/** `POST /v1/orgs/{id}/members`: sends an invitation by mail. Only the mail contains the token that accepts it. */
export function postMembers(app: FastifyInstance, control: OrgsContext): void {
  app.post('/v1/orgs/:id/members', {
    config: {
      audit: 'own',
      credential: 'jwt',
      idempotent: {},
      loads: 'org',
      permission: 'members:manage',
      docs: {
        summary: 'Invite somebody by e-mail',
        tag: 'Workspaces',
        body: inviteBody,
        status: 201,
        answer: invitation,
        errors: ['invalidField', 'notFound', 'seatLimitReached', 'alreadyMember'],
      },
    },
    handler: async (request, reply) => {
      const { email, role = 'member' } = parseBody(request, inviteBody)
      const asked = { org: orgOf(request), user: userOf(request).user, email, role }
      return reply.code(201).send(presentInvitation(await inviteMember(control, actorOf(request), asked)))
    },
  })
}

export function presentInvitation({ created_at, expires_at, ...row }: InvitationRow): Invitation {
  return { ...row, created_at: created_at.toISOString(), expires_at: expires_at.toISOString() }
}
