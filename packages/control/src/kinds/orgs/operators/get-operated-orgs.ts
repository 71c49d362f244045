import { type OperatedOrg, operatedOrg, operatedOrgsQuery } from '@offshoot/contract/operator'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import type { OrgsContext } from '../identity/orgs-context.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../../platform/http/page-of.ts'
import { type OperatedOrgRow, presentOrg, SELECT_ORGS } from './operator-queries.ts'

const ORDER: ListOrder<OperatedOrgRow> = newestFirst('orgs-of-all', 'orgs')

/** `GET /v1/admin/orgs`: all workspaces, newest first, or those with one slug or member. */
export function getOperatedOrgs(app: FastifyInstance, control: OrgsContext): void {
  app.get('/v1/admin/orgs', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'List all workspaces, newest first',
        tag: 'Operators',
        query: operatedOrgsQuery,
        status: 200,
        answer: z.array(operatedOrg),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply): Promise<OperatedOrg[]> => {
      const { limit = DEFAULT_LIST_LIMIT, ...query } = parseWith(operatedOrgsQuery, request.query)
      const { default_plan: defaultPlan } = control.config.limits
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: '',
        select: SELECT_ORGS,
        where: [
          ...slugOrMember(query.q),
          ...(query.plan === undefined ? [] : [sql`coalesce(plan, ${defaultPlan}) = ${query.plan}`]),
          ...equals('suspended', query.suspended),
          ...createdBetween('created_at', query),
        ],
        query: { ...query, limit },
      })
      return rows.map((row) => presentOrg(row, defaultPlan))
    },
  })
}

function slugOrMember(q: string | undefined): RawBuilder<unknown>[] {
  if (q === undefined) return []
  if (q.includes('\0')) return [sql`false`]
  const ofMember = sql`select m."organizationId" from member m join "user" u on u.id = m."userId" where u.email = lower(${q})`
  return [sql`(slug = ${q} or id in (${ofMember}))`]
}
