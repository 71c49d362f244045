import { workspaceSummary, type WorkspaceSummary } from '@offshoot/contract/identity'
import { type Org, org, orgListQuery } from '@offshoot/contract/org'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { OrgsContext } from './identity/orgs-context.ts'
import { type Membership, orgOf, userOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { equals, type ListOrder, listPage } from '../../platform/http/page-of.ts'
import { presentWorkspace } from './identity/present-workspace.ts'
import { orgDetails } from './identity/org-statements.ts'

interface JoinedRow {
  readonly id: string
  readonly member_id: string
  readonly joined_at: Date
}

const ORDER: ListOrder<JoinedRow> = {
  name: 'orgs',
  direction: 'asc',
  keys: [
    // A `Date` has no microseconds.
    { sql: `date_trunc('milliseconds', m."createdAt")`, type: 'timestamptz', of: (row) => row.joined_at },
    { sql: 'm.id', type: 'uuid', of: ({ member_id: id }) => id },
  ],
}

/** `GET /v1/orgs`: the caller's workspaces, in the order of joining. */
export function getOrgs(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/orgs', {
    config: {
      credential: 'jwt',
      docs: {
        summary: 'List workspaces, in the order of joining',
        tag: 'Workspaces',
        query: orgListQuery,
        status: 200,
        answer: z.array(workspaceSummary),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<WorkspaceSummary[]> => {
      const query = parseWith(orgListQuery, request.query)
      const { user, workspaces } = userOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: user.id,
        select: `select o.id, m.id as member_id, m."createdAt" as joined_at
          from member m join organization o on o.id = m."organizationId"`,
        where: [
          sql`m."userId" = ${user.id} and o.id = any(${workspaces.map(({ id }) => id)}::uuid[])`,
          ...equals('o.name', query.name),
          ...equals('o.slug', query.slug),
          ...equals('m.role', query.role),
        ],
        query,
      })
      const byId = new Map<string, Membership>(workspaces.map((workspace) => [workspace.id, workspace]))
      return rows.flatMap(({ id }) => byId.get(id) ?? []).map(presentWorkspace)
    },
  })
}

export function getOrg(app: FastifyInstance, { database }: OrgsContext): void {
  app.get('/v1/orgs/:id', {
    config: {
      credential: 'jwt',
      loads: 'org',
      permission: 'workspace:read',
      docs: { summary: 'One workspace', tag: 'Workspaces', status: 200, answer: org, errors: ['notFound'] },
    },
    handler: async (request): Promise<Org> => {
      const membership = orgOf(request)
      const [details] = await orgDetails(database.pool, membership.id)
      if (details === undefined) throw new Error('a workspace that was just there is gone')
      return { ...presentWorkspace(membership), ...details, created_at: details.created_at.toISOString() }
    },
  })
}
