import { randomUUID } from 'node:crypto'
import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { GuestShell } from '../../sandboxes/guest-shell.ts'
import { untilHealthy } from '../deploying/health.ts'
import { inPages } from '../../../platform/db/pages.ts'
import { liveAgent } from '../../../fleet/live-agent.ts'
import { sandboxById } from '../../sandboxes/model/sandbox-statements.ts'
import { drainInstance, hasInstances, servingInstances, type ServingRow } from '../model/instance-statements.ts'

/** Instances per query, and instances checked at the same time. */
const PAGE = 200
const AT_ONCE = 20
/** Milliseconds for an answer. Long, so that a slow instance is not drained. */
const ANSWER_MS = 5_000

/**
 * Drains instances that do not answer, or answer only with failures, for the whole duration of a check. Visitors are no
 * longer routed to them, and the load creates new ones if needed. An instance that was only slow still finishes its
 * requests.
 * @returns whether there are instances
 */
export async function replaceUnhealthy(remover: Remover, log: Logger): Promise<boolean> {
  const { pool } = remover.database
  for await (const page of inPages((after, limit) => servingInstances(pool, after, limit), PAGE)) {
    const waiting = page.values()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const instance of waiting) {
          await lookAt(remover, instance, log).catch((error: unknown) => {
            log.warn({ err: error, sandbox: instance.id }, 'health of an instance not checked: trying again later')
          })
        }
      }),
    )
  }
  return (await hasInstances(pool))[0]?.found === true
}

/** Skips an instance whose agent is unreachable, because its health is unknown. */
async function lookAt(remover: Remover, { id, port }: ServingRow, log: Logger): Promise<void> {
  const { fleet, database } = remover
  const [sandbox] = await sandboxById(database.pool, id)
  if (sandbox?.status !== 'running' || fleet.byId(sandbox.agent_id)?.isReachable !== true) return
  const shell = new GuestShell(liveAgent(remover, sandbox), id, sandbox.workspace_id, randomUUID())
  try {
    await untilHealthy(shell, port, Deadline.after(ANSWER_MS, `health of ${id}`), { wanted: 1 })
  } catch (error) {
    log.warn({ err: error, sandbox: id }, 'instance of an app is not healthy')
    await drainInstance(database.pool, id)
  }
}
