import { deployListQuery, deployment } from '@offshoot/contract/deployment'
import { MAX_LIST_LIMIT } from '@offshoot/contract/page'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { parseWith } from '../../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage } from '../../../platform/http/page-of.ts'
import { findApp } from '../model/find-app.ts'
import type { AppsContext } from '../model/apps-context.ts'
import { DEPLOYMENT_COLUMNS, type DeploymentRow, presentDeployment } from '../model/deployment-row.ts'

type NumberedRow = DeploymentRow & { readonly number: number }

const ORDER: ListOrder<NumberedRow> = {
  name: 'deploys',
  direction: 'desc',
  keys: [{ sql: 'd.number', type: 'bigint', of: (row) => row.number }],
}

/** `GET /v1/apps/{id}/deploys`: a page, newest first; without `limit`, of a thousand. */
export function getDeploys(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/deploys', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the deploys of an app, newest first',
        tag: 'Apps',
        query: deployListQuery,
        status: 200,
        answer: z.array(deployment),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const { limit = MAX_LIST_LIMIT, ...query } = parseWith(deployListQuery, request.query)
      const { id } = await findApp(control, request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: id,
        select: `select ${DEPLOYMENT_COLUMNS}, d.number from app_deployments d`,
        where: [
          sql`d.app_id = ${id}`,
          ...equals('d.status', query.status),
          ...equals('d.git_ref', query.git_ref),
          ...equals('d.git_commit', query.git_commit),
          ...createdBetween('d.created_at', query),
        ],
        query: { ...query, limit },
      })
      return rows.map(presentDeployment)
    },
  })
}
