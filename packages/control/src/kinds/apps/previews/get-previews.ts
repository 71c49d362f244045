import { app as appSchema, appListQuery } from '@offshoot/contract/app'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import { parseWith } from '../../../platform/http/body.ts'
import { type ListOrder, listPage } from '../../../platform/http/page-of.ts'
import { appFilters } from '../model/app-filters.ts'
import { APP_COLUMNS, type AppRow } from '../model/app-row.ts'
import { findApp } from '../model/find-app.ts'
import { presentAppOf } from '../model/present-app.ts'
import type { AppsContext } from '../model/apps-context.ts'

/** Newest pull request first. */
const ORDER: ListOrder<AppRow> = {
  name: 'previews',
  direction: 'desc',
  keys: [{ sql: 'apps.pull_number', type: 'bigint', of: ({ pull_number: number }) => number ?? 0 }],
}

/** `GET /v1/apps/{id}/previews`: the previews of open pull requests, each an app of its own. */
export function getPreviews(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps/:id/previews', {
    config: {
      audit: 'secret',
      credential: 'key-or-jwt',
      docs: {
        summary: 'List the previews of an app’s pull requests',
        tag: 'Apps',
        query: appListQuery,
        status: 200,
        answer: z.array(appSchema),
        errors: ['invalidField', 'notFound'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(appListQuery, request.query)
      const { id } = await findApp(control, request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: id,
        select: `select ${APP_COLUMNS} from apps`,
        where: [sql`parent_id = ${id} and deletion_due_at is null`, ...appFilters(query)],
        query,
      })
      return rows.map((row) => presentAppOf(control, row))
    },
  })
}
