import { database, databaseConnection, databaseSummary } from '@offshoot/contract/database'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { DatabasesContext } from './databases-context.ts'
import { callerOf } from '../../platform/http/caller.ts'
import { presentDatabase, presentSummary } from './present-database.ts'
import { databasesOfWorkspace } from './database-statements.ts'
import { findDatabase } from './find-database.ts'

/** `GET /v1/databases`, `GET /v1/databases/{id}` and `…/connection`. Only the last two contain credentials. */
export function getDatabases(app: FastifyInstance, control: DatabasesContext): void {
  app.get('/v1/databases', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'List databases, newest first',
        tag: 'Databases',
        status: 200,
        answer: z.array(databaseSummary),
      },
    },
    handler: async (request) => {
      const rows = await databasesOfWorkspace(control.database.pool, callerOf(request).workspaceId)
      return rows.map(presentSummary)
    },
  })
  app.get('/v1/databases/:id', {
    config: {
      credential: 'key-or-jwt',
      docs: { summary: 'Read one database', tag: 'Databases', status: 200, answer: database, errors: ['notFound'] },
    },
    handler: async (request) => presentDatabase(control, await findDatabase(control, request)),
  })
  app.get('/v1/databases/:id/connection', {
    config: {
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
