import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import { move } from '../../../fleet/sandbox-calls.ts'
import { draining, type DrainingVersion, letOldVersionsGo, setDrained } from '../model/deployment-statements.ts'
import { inPages } from '../../../platform/db/pages.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { removeSandbox } from '../../sandboxes/model/remove-sandbox.ts'
import { sandboxById } from '../../sandboxes/model/sandbox-statements.ts'
import { isQuiet } from './is-quiet.ts'
import { unnamedIds, unnamedSandbox } from './unnamed-statements.ts'

/**
 * Hibernates superseded versions once their requests have finished, and releases those beyond the number that is kept.
 * @returns whether versions may still be answering requests
 */
export async function settleOldVersions(remover: Remover, log: Logger): Promise<boolean> {
  const { pool } = remover.database
  let isDraining = false
  for await (const page of inPages((after, limit) => draining(pool, after, limit))) {
    isDraining ||= page.length > 0
    for (const row of page) {
      await putToSleep(remover, row).catch((error: unknown) => {
        log.warn({ err: error, deployment: row.id }, 'old version not removed: trying again later')
      })
    }
  }
  await letOldVersionsGo(pool)
  return isDraining
}

async function putToSleep(remover: Remover, row: DrainingVersion): Promise<void> {
  const { pool } = remover.database
  const [sandbox] = row.sandbox_id === null ? [] : await sandboxById(pool, row.sandbox_id)
  if (sandbox?.status === 'running') {
    const isReachable = remover.fleet.byId(sandbox.agent_id)?.isReachable === true
    // Put off without a word: one whose agent is away delays no other.
    if (!isReachable && !(row.is_over && row.is_replaced)) return
    if (isReachable && !row.is_over && !(await isQuiet(remover, sandbox))) return
    if (!row.is_replaced) await hibernate(remover, sandbox)
  }
  await setDrained(pool, row.id)
}

async function hibernate(remover: Remover, sandbox: SandboxRow): Promise<void> {
  await move(liveAgent(remover, sandbox), subjectOf(sandbox, randomUUID()), 'hibernate').catch((error: unknown) => {
    // The sandbox is paused or gone, so there is nothing to hibernate.
    if (!(error instanceof AgentRefused) || (error.status !== 404 && error.status !== 409)) throw error
  })
}

/**
 * Deletes the sandboxes of apps that no deployment refers to: of failed and interrupted deployments, and of old
 * versions.
 */
export function unnamedSandboxes(remover: Remover): RowTask {
  const { fleet, database } = remover
  return {
    name: 'remove-unnamed-sandbox',
    due: (limit) => unnamedIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [row] = await unnamedSandbox(database.pool, id, fleet.reachable)
      if (row !== undefined) await removeSandbox(remover, row, requestId)
    },
  }
}
