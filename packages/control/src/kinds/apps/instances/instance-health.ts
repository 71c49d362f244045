import { randomUUID } from 'node:crypto'
import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { GuestShell } from '../../sandboxes/guest-shell.ts'
import { untilHealthy } from '../deploying/health.ts'
import { liveAgent } from '../../../fleet/live-agent.ts'
import { sandboxById } from '../../sandboxes/sandbox-statements.ts'
import { drainInstance, servingInstances, type ServingRow } from './instance-statements.ts'

/** Instances that one query names, and those that are asked at the same time. */
const PAGE = 200
const AT_ONCE = 20
/** Below every id. */
const FIRST = '00000000-0000-0000-0000-000000000000'
/** Milliseconds for an answer: an instance that is only slow keeps its visitors. */
const ANSWER_MS = 5_000

/**
 * Instances that answer nothing, or only failures, for as long as one look takes: they are led to no more, and replaced when they are
 * needed. One that is only slow, on a busy host, ends what it is answering.
 */
export async function replaceUnhealthy(remover: Remover, log: Logger): Promise<void> {
  const { pool } = remover.database
  for (let page = await servingInstances(pool, FIRST, PAGE); page.length > 0;) {
    const waiting = page.values()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const instance of waiting) {
          await lookAt(remover, instance, log).catch((error: unknown) => {
            log.warn({ err: error, sandbox: instance.id }, 'health of an instance: put off')
          })
        }
      }),
    )
    page = page.length < PAGE ? [] : await servingInstances(pool, page.at(-1)?.id ?? FIRST, PAGE)
  }
}

/** One on an agent that does not answer is left alone: nothing is known of it. */
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
