import { app as appSchema, appListQuery } from '@offshoot/contract/app'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { AppsContext } from './model/apps-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import { appFilters } from './model/app-filters.ts'
import { APP_COLUMNS, type AppRow } from './model/app-row.ts'
import { presentAppOf } from './model/present-app.ts'

const ORDER: ListOrder<AppRow> = newestFirst('apps', 'apps')

/** `GET /v1/apps`: the apps of the workspace without previews, newest first. */
export function getApps(app: FastifyInstance, control: AppsContext): void {
  app.get('/v1/apps', {
    config: {
      audit: 'secret',
      credential: 'key-or-jwt',
      docs: {
        summary: 'List apps, newest first',
        tag: 'Apps',
        query: appListQuery,
        status: 200,
        answer: z.array(appSchema),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(appListQuery, request.query)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: `select ${APP_COLUMNS} from apps`,
        where: [
          sql`workspace_id = ${workspaceId} and deletion_due_at is null and pull_number is null`,
          ...appFilters(query),
        ],
        query,
      })
      return rows.map((row) => presentAppOf(control, row))
    },
  })
}
