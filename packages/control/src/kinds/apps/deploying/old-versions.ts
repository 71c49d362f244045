import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Remover } from '../../../fleet/agent-or-retired.ts'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import { move } from '../../../fleet/sandbox-calls.ts'
import type { DeploymentRow } from '../deployments/deployment-row.ts'
import { draining, letOldVersionsGo, setDrained } from '../deployments/deployment-statements.ts'
import { inPages } from '../../../platform/db/pages.ts'
import { LEASE_SECONDS, type Reaping } from '../../../platform/jobs/reaper.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import { removeSandbox } from '../../sandboxes/remove-sandbox.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { sandboxById } from '../../sandboxes/sandbox-statements.ts'
import { retryDeletion } from '../../sandboxes/sandbox-statements.ts'
import { isQuiet } from './is-quiet.ts'
import { claimUnnamed } from './unnamed-statements.ts'

/**
 * Hibernates superseded versions once their requests have finished, and releases those beyond the number that is kept.
 */
export async function settleOldVersions(remover: Remover, log: Logger): Promise<void> {
  const { pool } = remover.database
  for await (const page of inPages((after, limit) => draining(pool, after, limit))) {
    for (const row of page) {
      await putToSleep(remover, row).catch((error: unknown) => {
        log.warn({ err: error, deployment: row.id }, 'version that no longer serves: put off')
      })
    }
  }
  await letOldVersionsGo(pool)
}

async function putToSleep(remover: Remover, row: DeploymentRow & { readonly is_over: boolean }): Promise<void> {
  const { pool } = remover.database
  const [sandbox] = row.sandbox_id === null ? [] : await sandboxById(pool, row.sandbox_id)
  if (sandbox?.status === 'running') {
    // Put off without a word: one whose agent is away delays no other.
    if (remover.fleet.byId(sandbox.agent_id)?.isReachable !== true) return
    if (!row.is_over && !(await isQuiet(remover, sandbox))) return
    await move(liveAgent(remover, sandbox), subjectOf(sandbox, randomUUID()), 'hibernate').catch((error: unknown) => {
      // The sandbox is paused or gone, so there is nothing to hibernate.
      if (!(error instanceof AgentRefused) || (error.status !== 404 && error.status !== 409)) throw error
    })
  }
  await setDrained(pool, row.id)
}

/**
 * Deletes the sandboxes of apps that no deployment refers to: of failed and interrupted deployments, and of old
 * versions.
 */
export function unnamedSandboxes(remover: Remover): Reaping<SandboxRow> {
  const { fleet, database } = remover
  return {
    what: 'sandbox of no deployment',
    everyMs: 1_000,
    claim: (limit) => claimUnnamed(database.pool, limit, fleet.reachable, LEASE_SECONDS),
    remove: (row, requestId) => removeSandbox(remover, row, requestId),
    retry: (id, afterSeconds) => retryDeletion(database.pool, id, afterSeconds),
  }
}
