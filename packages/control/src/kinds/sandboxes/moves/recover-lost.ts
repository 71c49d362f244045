import { endWaitingMoves, beginRecovery, recoverableCopies } from '../../../fleet/recovery-statements.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import type { RecurringTask } from '../../../platform/jobs/task.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { destinations } from './destinations.ts'

/** Milliseconds between two rounds. */
const EVERY_MS = 2_000
/** Sandboxes that come back at the same time. */
const MAX_AT_ONCE = 4

/** Begins to take over the sandboxes of lost and removed hosts that have a stored copy. */
export function recoverLost(control: SandboxesContext): RecurringTask {
  const { database, fleet } = control
  return {
    name: 'recover-sandboxes',
    async recur({ signal }) {
      for (const copy of await recoverableCopies(database.pool, MAX_AT_ONCE)) {
        signal.throwIfAborted()
        const [best] = destinations(fleet, copy, copy)
        // Without room anywhere, the next round looks again.
        if (best === undefined) continue
        await transaction(database.pool, async (client) => {
          await endWaitingMoves(client, copy.id)
          await beginRecovery(client, copy.id, best.info.agent_id)
        })
      }
      return EVERY_MS
    },
  }
}
