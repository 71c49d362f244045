import type { Remover } from '../../fleet/agent-or-retired.ts'
import type { RowTask } from '../../platform/jobs/task.ts'
import { removeSandbox } from './model/remove-sandbox.ts'
import { endExpired, expiredIds } from './model/sandbox-statements.ts'

/**
 * Deletes expired sandboxes and those with a pending deletion. If an agent is unreachable, its sandboxes are deleted
 * when it is back.
 */
export function expiredSandboxes(remover: Remover): RowTask {
  const { fleet, database } = remover
  return {
    name: 'remove-sandbox',
    due: (limit) => expiredIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [row] = await endExpired(database.pool, id, fleet.reachable)
      if (row !== undefined) await removeSandbox(remover, row, requestId)
    },
  }
}
