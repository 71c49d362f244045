import { ApiError } from '@offshoot/contract/errors'
import { isUuid } from '@offshoot/contract/ids'
import { changeMemberBody, member, type Member, memberListQuery } from '@offshoot/contract/org'
import { isPermitted } from '@offshoot/contract/role'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { actorOf } from '../../platform/audit/actor.ts'
import type { OrgsContext } from './identity/orgs-context.ts'
import { orgOf, userOf } from '../../platform/http/caller.ts'
import { parseBody, parseWith } from '../../platform/http/body.ts'
import { equals, type ListOrder, listPage } from '../../platform/http/page-of.ts'
import { changeMemberRole, endMembership } from './change-members.ts'
import { type MemberRow, SELECT_MEMBERS } from './identity/org-statements.ts'

const ORDER: ListOrder<MemberRow> = {
  name: 'members',
  direction: 'asc',
  keys: [
    // A `Date` has no microseconds.
    { sql: `date_trunc('milliseconds', m."createdAt")`, type: 'timestamptz', of: (row) => row.joined_at },
    { sql: 'u.id', type: 'uuid', of: ({ user_id: id }) => id },
  ],
}

/** `GET /v1/orgs/{id}/members`: in the order of joining. */
export function getMembers(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/orgs/:id/members', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'workspace:read',
      docs: {
        summary: 'List members, in the order of joining',
        tag: 'Workspaces',
        query: memberListQuery,
        status: 200,
        answer: z.array(member),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply): Promise<Member[]> => {
      const query = parseWith(memberListQuery, request.query)
      const { id } = orgOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: id,
        select: SELECT_MEMBERS,
        where: [
          sql`m."organizationId" = ${id}`,
          ...equals('m.role', query.role),
          ...equals('u.email', query.email?.toLowerCase()),
        ],
        query,
      })
      return rows.map(present)
    },
  })
}

/** `PATCH /v1/orgs/{id}/members/{user_id}`: changes the member's role. */
export function patchMember(app: FastifyInstance, { database }: OrgsContext): void {
  app.patch('/v1/orgs/:id/members/:user_id', {
    config: {
      audit: 'own',
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
      audit: 'own',
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
