import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { isQuiet } from '../deploying/is-quiet.ts'
import { sandboxById } from '../../sandboxes/sandbox-statements.ts'
import { drainingInstances, drainSpare, forgetInstance, forgetLost } from './instance-statements.ts'

/** Instances handled in one round. */
const AT_ONCE = 100

/** Drains instances that are no longer needed, and removes drained ones once their requests have finished. */
export async function settleInstances(remover: Remover, log: Logger): Promise<void> {
  const { pool } = remover.database
  await forgetLost(pool)
  await drainSpare(pool)
  for (const { id, is_over: isOver } of await drainingInstances(pool, AT_ONCE)) {
    const [sandbox] = await sandboxById(pool, id)
    const isBusy = !isOver && sandbox?.status === 'running' && !(await isQuiet(remover, sandbox).catch(() => false))
    if (isBusy) continue
    await forgetInstance(pool, id)
    log.info({ sandbox: id }, 'instance of an app ended')
  }
}
