import { randomUUID } from 'node:crypto'
import { Deadline } from '@offshoot/kit/deadline'
import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { GuestShell } from '../../sandboxes/guest-shell.ts'
import { untilHealthy } from '../deploying/health.ts'
import { liveAgent } from '../../../fleet/live-agent.ts'
import { sandboxById } from '../../sandboxes/sandbox-statements.ts'
import { drainInstance, servingInstances } from './instance-statements.ts'

/** Instances that are looked at, one after the other. */
const AT_ONCE = 200
/** Milliseconds for an answer: an instance that is only slow keeps its visitors. */
const ANSWER_MS = 5_000

/**
 * Instances that answer nothing, or only failures, for as long as one look takes: they are led to no more, and replaced when they are
 * needed. One that is only slow, on a busy host, ends what it is answering.
 */
export async function replaceUnhealthy(remover: Remover, log: Logger): Promise<void> {
  const { pool } = remover.database
  for (const { id, port } of await servingInstances(pool, AT_ONCE)) {
    const [sandbox] = await sandboxById(pool, id)
    if (sandbox?.status !== 'running') continue
    const shell = new GuestShell(liveAgent(remover, sandbox), id, sandbox.workspace_id, randomUUID())
    try {
      await untilHealthy(shell, port, Deadline.after(ANSWER_MS, `health of ${id}`), { wanted: 1 })
    } catch (error) {
      log.warn({ err: error, sandbox: id }, 'instance of an app is not healthy')
      await drainInstance(pool, id)
    }
  }
}
