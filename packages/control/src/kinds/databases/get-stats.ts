import { databaseStats, databaseUser } from '@offshoot/contract/database'
import { ApiError } from '@offshoot/contract/errors'
import type { FastifyInstance } from 'fastify'
import { refuse } from '../../fleet/agent-failure.ts'
import { readArchive } from '../../fleet/archive-calls.ts'
import type { DatabasesContext } from './databases-context.ts'
import { agentOfDatabase } from './model/agent-of-database.ts'
import { findDatabase } from './find-database.ts'
import { readStats } from './read-stats.ts'
import { waitingSegments } from './stored-archives/waiting-segments.ts'
import { openSecrets } from './model/secrets.ts'
import { clientConfig, withClient } from './model/server-client.ts'

/** `GET /v1/databases/{id}/stats`: asks the server itself, and wakes it for that. */
export function getStats(app: FastifyInstance, control: DatabasesContext): void {
  app.get('/v1/databases/:id/stats', {
    config: {
      credential: 'key-or-jwt',
      docs: {
        summary: 'Read how large and how busy a database is',
        tag: 'Databases',
        status: 200,
        answer: databaseStats,
        errors: ['notFound', 'sandboxNotRunning', 'sandboxStopped', 'agentUnreachable', 'insufficientMemory'],
      },
    },
    handler: async (request) => {
      const row = await findDatabase(control, request)
      const { password } = openSecrets(control.databaseSecrets, row.secrets)
      const as = { user: databaseUser(row.id), password }
      const subject = { id: row.id, workspaceId: row.workspace_id, requestId: request.id }
      const agent = agentOfDatabase(control.fleet, row)
      const archive = await readArchive(agent, subject)
        .then(async (read) => {
          // The first host stores archives by itself.
          if (read.objects !== null || control.storedSegments === null) return read
          return { ...read, objects: await waitingSegments(control.database, agent, row.agent_id, subject) }
        })
        .catch(refuse)
      const stats = await withClient(clientConfig(control.fleet, row, as), (client) =>
        readStats(client, archive),
      ).catch((error: unknown) => {
        if (error instanceof ApiError) throw error
        throw new ApiError('agentUnreachable', { detail: (error as Error).message }, { cause: error })
      })
      return databaseStats.parse(stats)
    },
  })
}
