import { ApiError } from '@offshoot/contract/errors'
import { chosenOrg, type ChosenOrg } from '@offshoot/contract/identity'
import type { FastifyInstance } from 'fastify'
import { type Actor, actorOf } from '../../platform/audit/actor.ts'
import { recordAuditEvent } from '../../platform/audit/audit-statements.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { userOf } from '../../platform/http/caller.ts'
import type { UserCaller } from '../../platform/http/caller.ts'
import { insertMember } from './identity/membership-statements.ts'
import { presentWorkspace } from './identity/present-workspace.ts'
import { userCaller } from './identity/user-caller.ts'
import { confirmAddress, invitationByToken, removeInvitation } from './identity/invitation-statements.ts'
import { hashInvitation, refuseOverSeats } from './invite-member.ts'

/** `POST /v1/orgs/invites/{token}/accept`: works once, for a user with the invited address. */
export function postAccept(app: FastifyInstance, control: OrgsContext): void {
  app.post('/v1/orgs/invites/:token/accept', {
    config: {
      audit: 'own',
      credential: 'jwt',
      docs: {
        summary: 'Accept an invitation',
        tag: 'Workspaces',
        status: 200,
        answer: chosenOrg,
        errors: ['notFound', 'invitationOfAnother', 'seatLimitReached', 'alreadyMember'],
      },
    },
    handler: async (request): Promise<ChosenOrg> => {
      const { user } = userOf(request)
      const { token } = request.params as { token: string }
      const joined = await accept(control, actorOf(request), user, token)
      const { database, config } = control
      const claims = {
        userId: user.id,
        workspaceId: joined,
        onlyWorkspaceId: null,
        scopes: null,
        sessionId: null,
        issuedAt: null,
        expiresAt: 0,
        provenAt: null,
      }
      const { workspaces } = await userCaller(database.pool, claims, undefined, config.limits.default_plan)
      const org = workspaces.find(({ id }) => id === joined)
      if (org === undefined) throw new ApiError('notFound')
      return { org: presentWorkspace(org) }
    },
  })
}

async function accept(control: OrgsContext, actor: Actor, user: UserCaller['user'], token: string) {
  return transaction(control.database.pool, async (client) => {
    const [invitation] = await invitationByToken(client, hashInvitation(token))
    if (invitation === undefined) throw new ApiError('notFound')
    if (invitation.email !== user.email.toLowerCase()) throw new ApiError('invitationOfAnother')
    const { workspace_id: id, role } = invitation
    // The plan, and with it the number of seats, may have changed since the invitation.
    await refuseOverSeats(client, control, { id }, invitation.email)
    await removeInvitation(client, id, invitation.id)
    await insertMember(client, id, user.id, role)
    await confirmAddress(client, user.id)
    await recordAuditEvent(client, actor, {
      workspaceId: id,
      action: 'member.joined',
      target: user.id,
      details: { role },
    })
    return id
  })
}
