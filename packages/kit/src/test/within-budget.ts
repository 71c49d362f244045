import { runInNewContext } from 'node:vm'

/** Far more than linear work over a megabyte needs on a busy machine, and far less than quadratic work. */
const BUDGET_MS = 10_000

/**
 * Runs synchronous `work`, and throws if it exceeds the budget. A test's own timeout cannot do this: its timer cannot
 * fire while `work` blocks the thread.
 */
export function withinBudget<T>(work: () => T): T {
  return runInNewContext('work()', { work }, { timeout: BUDGET_MS }) as T
}
