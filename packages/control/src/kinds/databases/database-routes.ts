import type { FastifyInstance } from 'fastify'
import type { DatabasesContext } from './databases-context.ts'
import { backupRoutes } from './backup-routes.ts'
import { deleteDatabase } from './delete-database.ts'
import { getDatabases } from './get-databases.ts'
import { getEdgeDatabase } from './get-edge-database.ts'
import { getLogs } from './get-logs.ts'
import { getStats } from './get-stats.ts'
import { patchDatabase } from './patch-database.ts'
import { postBranch } from './post-branch.ts'
import { postDatabases } from './post-databases.ts'
import { postRestore } from './post-restore.ts'
import { postResetCredentials } from './post-reset-credentials.ts'
import { proxyRoutes } from './proxy-routes.ts'

/** Everything under `/v1/databases`, and what edges ask about databases. */
export function databaseRoutes(app: FastifyInstance, control: DatabasesContext): void {
  for (const route of [
    postDatabases,
    getDatabases,
    patchDatabase,
    deleteDatabase,
    postBranch,
    postRestore,
    backupRoutes,
    postResetCredentials,
    getStats,
    getLogs,
    proxyRoutes,
    getEdgeDatabase,
  ]) {
    route(app, control)
  }
}
