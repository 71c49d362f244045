import type { Kind } from '../../fleet/kind.ts'
import { Reaper } from '../../platform/jobs/reaper.ts'
import { abandonedDatabases } from './abandoned-databases.ts'
import { databaseRoutes } from './database-routes.ts'
import type { DatabasesContext } from './databases-context.ts'
import { dueBackups } from './due-backups.ts'
import { proofsAmong, removeOldProofs } from './proof-statements.ts'

/** Managed PostgreSQL: databases, their backups, and SQL over HTTP. */
export const databases: Kind<DatabasesContext> = {
  name: 'databases',
  routes: databaseRoutes,
  agents: () => ({
    hiddenAmong: async (on, ids) => (await proofsAmong(on, ids)).map(({ id }) => id),
  }),
  startJobs: (control) => [
    new Reaper(abandonedDatabases(control), control.log),
    new Reaper(dueBackups(control), control.log),
  ],
  sweeps: [removeOldProofs],
}
