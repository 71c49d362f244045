import { beginCopies } from '../../../fleet/copy-statements.ts'
import { dropUnneededBakes } from '../../../fleet/stream-statements.ts'
import type { RecurringTask } from '../../../platform/jobs/task.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'

/** Milliseconds between two rounds, and while there are more sandboxes to copy. */
const EVERY_MS = 10_000
const NEXT_MS = 500
/** Copies that are stored at the same time. */
const MAX_AT_ONCE = 4

/** Begins the copies of sandboxes that have slept long enough, and drops bakes that no copy needs. */
export function planCopies(control: SandboxesContext): RecurringTask {
  const { database, fleet, config } = control
  const afterSeconds = config.copy_after_seconds
  return {
    name: 'plan-copies',
    async recur() {
      const begun = await beginCopies(database.pool, afterSeconds, fleet.reachable, MAX_AT_ONCE)
      await dropUnneededBakes(database.pool)
      return begun.length > 0 ? NEXT_MS : Math.min(EVERY_MS, afterSeconds * 1000)
    },
  }
}
