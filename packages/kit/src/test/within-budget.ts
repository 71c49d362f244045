import { runInNewContext } from 'node:vm'

/** Far more than linear work over a megabyte takes on a busy machine, and far less than quadratic work does. */
const BUDGET_MS = 10_000

/**
 * Runs synchronous `work`, and throws when it has not ended within the budget. A test's own timeout cannot do this: its timer
 * waits for the work that blocks the thread.
 */
export function withinBudget<T>(work: () => T): T {
  return runInNewContext('work()', { work }, { timeout: BUDGET_MS }) as T
}
