import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import { changeMemberBody, member, type Member } from '@offshoot/contract/org'
import { isPermitted } from '@offshoot/contract/role'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { actorOf } from '../../platform/audit/actor.ts'
import type { OrgsContext } from './orgs-context.ts'
import { orgOf, userOf } from '../../platform/http/caller.ts'
import { parseBody } from '../../platform/http/body.ts'
import { changeMemberRole, endMembership } from './change-members.ts'
import { type MemberRow, membersOfOrg } from './org-statements.ts'

/** `GET /v1/orgs/{id}/members`: in the order of joining. */
export function getMembers(app: FastifyInstance, { database }: OrgsContext): void {
  app.get('/v1/orgs/:id/members', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'workspace:read',
      docs: { summary: 'List members', tag: 'Workspaces', status: 200, answer: z.array(member), errors: ['notFound'] },
    },
    handler: async (request): Promise<Member[]> => (await membersOfOrg(database.pool, orgOf(request).id)).map(present),
  })
}

/** `PATCH /v1/orgs/{id}/members/{user_id}`: changes the member's role. */
export function patchMember(app: FastifyInstance, { database }: OrgsContext): void {
  app.patch('/v1/orgs/:id/members/:user_id', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'members:promote',
      docs: {
        summary: 'Change the role of a member',
        tag: 'Workspaces',
        body: changeMemberBody,
        status: 200,
        answer: member,
        errors: ['invalidField', 'notFound', 'lastOwner'],
      },
    },
    handler: async (request): Promise<Member> => {
      const { role } = parseBody(request, changeMemberBody)
      return present(
        await changeMemberRole(database.pool, actorOf(request), orgOf(request).id, userIdOf(request), role),
      )
    },
  })
}

/** `DELETE /v1/orgs/{id}/members/{user_id}`: every member may leave; removing another member takes a permission. */
export function deleteMember(app: FastifyInstance, { database }: OrgsContext): void {
  app.delete('/v1/orgs/:id/members/:user_id', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'workspace:read',
      docs: { summary: 'Remove a member, or leave', tag: 'Workspaces', status: 204, errors: ['notFound', 'lastOwner'] },
    },
    handler: async (request, reply) => {
      const { id, role } = orgOf(request)
      const userId = userIdOf(request)
      const isOwn = userId === userOf(request).user.id
      if (!isOwn && !isPermitted(role, 'members:manage')) {
        throw new ApiError('roleMissing', { detail: 'takes the role owner or admin' })
      }
      const mayRemoveOwners = isOwn || isPermitted(role, 'members:promote')
      await endMembership(database.pool, actorOf(request), id, userId, mayRemoveOwners)
      return reply.code(204).send()
    },
  })
}

function userIdOf(request: FastifyRequest): string {
  const { user_id: userId } = request.params as { user_id: string }
  if (!isUuid(userId)) throw new ApiError('notFound')
  return userId
}

function present({ joined_at, ...row }: MemberRow): Member {
  return { ...row, joined_at: joined_at.toISOString() }
}
