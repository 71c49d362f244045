import { type OperatedOrg, operatedOrg, operatedOrgsQuery } from '@offshoot/contract/operator'
import { DEFAULT_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { OrgsContext } from '../orgs-context.ts'
import { parseWith } from '../../../platform/http/body.ts'
import { pageOf } from '../../../platform/http/page-of.ts'
import { listOrgs, presentOrg } from './operator-queries.ts'

/** `GET /v1/admin/orgs`: all workspaces, newest first, or those with one slug or member. */
export function getOperatedOrgs(app: FastifyInstance, { config, database }: OrgsContext): void {
  app.get('/v1/admin/orgs', {
    config: {
      credential: 'operator',
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
      const { limit = DEFAULT_LIST_LIMIT, cursor, q } = parseWith(operatedOrgsQuery, request.query)
      if (q?.includes('\0') === true) return []
      const rows = await listOrgs(database.db, { limit, cursor, q })
      const { default_plan: defaultPlan } = config.limits
      return pageOf(rows, limit, config.public_url, request, reply).map((row) => presentOrg(row, defaultPlan))
    },
  })
}
