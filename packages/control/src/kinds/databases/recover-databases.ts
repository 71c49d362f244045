import type { RecurringTask } from '../../platform/jobs/task.ts'
import type { DatabasesContext } from './databases-context.ts'
import { recoverDatabase } from './recover-database.ts'
import {
  beginRecovery,
  countLost,
  endPointlessRecoveries,
  lostDatabases,
  openRecoveries,
} from './recovery-statements.ts'

/** Milliseconds between two rounds while there is something to recover. */
const EVERY_MS = 1_000
/** Databases that come back at the same time. */
const MAX_AT_ONCE = 4

/** Brings databases of hosts that have ended back on other hosts, one attempt at a time for each. */
export function recoverDatabases(control: DatabasesContext): RecurringTask {
  const { database, fleet } = control
  const { pool } = database
  return {
    name: 'recover-databases',
    async recur({ requestId, signal }) {
      if (control.storedSegments === null) return null
      await endPointlessRecoveries(pool)
      const lost = await lostDatabases(pool, fleet.reachable, MAX_AT_ONCE)
      for (const { id, to_agent: to, backup_id: backup } of lost) await beginRecovery(pool, id, to, backup)
      const open = await openRecoveries(pool)
      await Promise.all(open.map((recovery) => recoverDatabase(control, recovery, { requestId, signal })))
      // After a failure, another attempt begins later.
      const isWaiting = (await countLost(pool)).some(({ status }) => status === 'recoverable')
      return open.length > 0 || isWaiting ? EVERY_MS : null
    },
  }
}
