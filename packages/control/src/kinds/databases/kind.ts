import { DATABASE_TEMPLATES } from '@offshoot/contract/database'
import { statusOnAgents } from '../../fleet/get-status.ts'
import type { Kind } from '../../fleet/kind.ts'
import { addStatusGauge } from '../../platform/http/metrics.ts'
import { lane } from '../../platform/jobs/task.ts'
import { abandonedDatabases } from './abandoned-databases.ts'
import { databaseRoutes } from './database-routes.ts'
import type { DatabasesContext } from './databases-context.ts'
import { dueBackups } from './due-backups.ts'
import { recoverDatabases } from './recover-databases.ts'
import { countLost } from './recovery-statements.ts'
import { deleteSegments } from './stored-archives/delete-segments.ts'
import { storeArchives } from './stored-archives/store-archives.ts'
import { verificationsAmong, removeOldVerifications } from './verification-statements.ts'

/** Managed PostgreSQL: databases, their backups, and SQL over HTTP. */
export const databases: Kind<DatabasesContext> = {
  name: 'databases',
  routes: databaseRoutes,
  agents: () => ({
    hiddenAmong: async (on, ids) => (await verificationsAmong(on, ids)).map(({ id }) => id),
  }),
  parts: (control) => ({ databases: () => statusOnAgents(control, DATABASE_TEMPLATES['1g']) }),
  lanes: (control) => [
    lane('objects', [abandonedDatabases(control)]),
    // Few at once, because each backup writes the VM's memory to disk.
    lane('backups', [dueBackups(control)], { atOnce: 2 }),
    // An object store that is slow delays nothing else.
    // A recovery takes as long as it takes, and must not delay anything else.
    lane('recoveries', [recoverDatabases(control)]),
    lane('archives', [storeArchives(control), deleteSegments(control)], { atOnce: 8, pollMs: 1_000 }),
  ],
  sweeps: [removeOldVerifications],
  addMetrics(registry, { database: { pool } }) {
    addStatusGauge(registry, 'offshoot_databases_lost', 'Databases whose host has ended, by status', () =>
      countLost(pool),
    )
  },
}
