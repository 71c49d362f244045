import { database, databaseConnection, databaseListQuery, databaseSummary } from '@offshoot/contract/database'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { z } from 'zod'
import type { DatabasesContext } from './databases-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { parseWith } from '../../platform/http/body.ts'
import { createdBetween, equals, type ListOrder, listPage, newestFirst } from '../../platform/http/page-of.ts'
import type { DatabaseRow } from './model/database-row.ts'
import { SELECT_DATABASES } from './database-statements.ts'
import { presentDatabase, presentSummary, statusIs } from './present-database.ts'
import { findDatabase } from './find-database.ts'

const ORDER: ListOrder<DatabaseRow> = newestFirst('databases', 'd')

/** `GET /v1/databases`, `GET /v1/databases/{id}` and `…/connection`. Only the last two contain credentials. */
export function getDatabases(app: FastifyInstance, control: DatabasesContext): void {
  app.get('/v1/databases', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List databases, newest first',
        tag: 'Databases',
        query: databaseListQuery,
        status: 200,
        answer: z.array(databaseSummary),
        errors: ['invalidField'],
      },
    },
    handler: async (request, reply) => {
      const query = parseWith(databaseListQuery, request.query)
      const { workspaceId } = callerOf(request)
      const rows = await listPage(control, request, reply, {
        order: ORDER,
        owner: workspaceId,
        select: SELECT_DATABASES,
        where: [
          sql`d.workspace_id = ${workspaceId} and d.status <> 'deleting'`,
          ...equals('d.label', query.label),
          ...equals('d.size', query.size),
          ...statusIs(query.status),
          ...createdBetween('d.created_at', query),
        ],
        query,
      })
      return rows.map(presentSummary)
    },
  })
  app.get('/v1/databases/:id', {
    config: {
      audit: 'secret',
      credential: 'key-or-jwt',
      docs: { summary: 'Read one database', tag: 'Databases', status: 200, answer: database, errors: ['notFound'] },
    },
    handler: async (request) => presentDatabase(control, await findDatabase(control, request)),
  })
  app.get('/v1/databases/:id/connection', {
    config: {
      audit: 'secret',
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read what opens a database',
        tag: 'Databases',
        status: 200,
        answer: databaseConnection,
        errors: ['notFound'],
      },
    },
    handler: async (request) => {
      const { connection_url, broker_url, broker_token } = presentDatabase(
        control,
        await findDatabase(control, request),
      )
      return { connection_url, broker_url, broker_token }
    },
  })
}
