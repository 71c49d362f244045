import type { RecurringTask } from '../../platform/jobs/task.ts'
import { hostsForArtifact } from '../sandboxes/artifacts/artifact-nodes.ts'
import type { DatabasesContext } from './databases-context.ts'
import { recoverDatabase } from './recover-database.ts'
import {
  beginRecovery,
  countLost,
  endPointlessRecoveries,
  openRecoveries,
  usableBackups,
} from './recovery-statements.ts'

/** Milliseconds between two rounds while there is something to recover. */
const EVERY_MS = 1_000
/** Databases that come back at the same time. */
const MAX_AT_ONCE = 4

/** Brings databases of hosts that have ended back on other hosts, one attempt at a time for each. */
export function recoverDatabases(control: DatabasesContext): RecurringTask {
  const { pool } = control.database
  return {
    name: 'recover-databases',
    async recur({ requestId, signal }) {
      if (control.storedSegments === null) return null
      await endPointlessRecoveries(pool)
      await beginRecoveries(control)
      const open = await openRecoveries(pool)
      await Promise.all(open.map((recovery) => recoverDatabase(control, recovery, { requestId, signal })))
      // After a failure, another attempt begins later.
      const isWaiting = (await countLost(pool)).some(({ status }) => status === 'recoverable')
      return open.length > 0 || isWaiting ? EVERY_MS : null
    },
  }
}

/** Chooses a backup and a host for each lost database, as long as few enough come back. */
async function beginRecoveries(control: DatabasesContext): Promise<void> {
  const { pool } = control.database
  let open = (await openRecoveries(pool)).length
  const begun = new Set<string>()
  for (const backup of open < MAX_AT_ONCE ? await usableBackups(pool) : []) {
    if (open >= MAX_AT_ONCE) return
    if (begun.has(backup.database_id)) continue
    const [best] = await hostsForArtifact(control, backup)
    // Without such a host, an older backup may be where there is one. Else the next round looks again.
    if (best === undefined) continue
    begun.add(backup.database_id)
    if (await beginRecovery(pool, backup, best.info.agent_id)) open += 1
  }
}
