import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { inPages } from '../../../platform/db/pages.ts'
import { isQuiet } from '../deploying/is-quiet.ts'
import { sandboxById } from '../../sandboxes/model/sandbox-statements.ts'
import {
  drainingInstances,
  drainSpare,
  forgetInstance,
  forgetLost,
  hasInstances,
} from '../model/instance-statements.ts'

/**
 * Drains instances that are no longer needed, and removes drained ones once their requests have finished.
 * @returns whether there are instances left
 */
export async function settleInstances(remover: Remover, log: Logger): Promise<boolean> {
  const { pool } = remover.database
  await forgetLost(pool)
  await drainSpare(pool)
  for await (const page of inPages((after, limit) => drainingInstances(pool, after, limit))) {
    for (const { id, is_over: isOver } of page) {
      if (!isOver && (await isBusy(remover, id))) continue
      await forgetInstance(pool, id)
      log.info({ sandbox: id }, 'instance of an app ended')
    }
  }
  return (await hasInstances(pool))[0]?.found === true
}

/** One on an agent that does not answer may be: it is not asked, so that it delays no other. */
async function isBusy(remover: Remover, id: string): Promise<boolean> {
  const [sandbox] = await sandboxById(remover.database.pool, id)
  if (sandbox?.status !== 'running') return false
  if (remover.fleet.byId(sandbox.agent_id)?.isReachable !== true) return true
  return !(await isQuiet(remover, sandbox).catch(() => false))
}
