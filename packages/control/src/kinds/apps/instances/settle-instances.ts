import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { isQuiet } from '../deploying/is-quiet.ts'
import { sandboxById } from '../../sandboxes/sandbox-statements.ts'
import { drainingInstances, drainSpare, forgetInstance, forgetLost } from './instance-statements.ts'

/** Instances that are looked after at one look. */
const AT_ONCE = 100

/** Instances that are not needed any more: no visitor is led to them from here on, and once what they answer is over they go. */
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
