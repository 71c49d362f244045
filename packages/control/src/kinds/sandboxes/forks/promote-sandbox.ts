import { ApiError } from '@offshoot/contract/errors'
import type { PromoteBody, Promotion } from '@offshoot/contract/fork'
import { refuse } from '../../../fleet/agent-failure.ts'
import { lockAgentCursor } from '../../../fleet/agent-statements.ts'
import { look, promote } from '../../../fleet/sandbox-calls.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { LEASE_SECONDS, RETRY_SECONDS } from '../../../platform/jobs/task.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import { removeSandbox } from '../model/remove-sandbox.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { retryDeletion } from '../model/sandbox-statements.ts'
import { detachWinner, doomSiblings } from './fork-statements.ts'

/**
 * Makes a child of a fork tree an independent sandbox, and deletes its siblings.
 *
 * One transaction decides in the rows: it detaches the winner and marks the siblings for deletion. So two children that
 * are promoted at the same time never delete each other. The reaper deletes the siblings that cannot be deleted now, or
 * that are left if this process dies. Repeating the call completes it.
 *
 * @throws ApiError 404, 409 or 502 before the rows change; 502 also afterwards, if the agent is lost in between
 */
export async function promoteSandbox(
  control: SandboxesContext,
  row: SandboxRow,
  { tree_id: askedTree, cleanup_siblings: cleansUp = true }: PromoteBody,
  requestId: string,
): Promise<Promotion> {
  const treeId = row.fork_tree_id
  if (treeId === null || (askedTree !== undefined && askedTree !== treeId)) throw new ApiError('notForkTreeChild')
  const agent = liveAgent(control, row)
  const subject = subjectOf(row, requestId)
  await look(agent, subject).catch(refuse)
  const siblings = await decide(control, row, treeId, cleansUp)
  const { deleted, failures } = await removeAll(control, siblings, requestId)
  await promote(agent, subject, { tree_id: treeId, deleted }).catch(refuse)
  return { winner: row.id, tree_id: treeId, deleted, failures }
}

/** @returns the siblings to delete */
function decide(
  { database }: SandboxesContext,
  row: SandboxRow,
  treeId: string,
  cleansUp: boolean,
): Promise<SandboxRow[]> {
  return transaction(database.pool, async (client) => {
    // All sandboxes of a tree are on one agent. A transaction that changes several rows of an agent takes this lock
    // first, which prevents deadlocks.
    await lockAgentCursor(client, row.agent_id)
    const [winner] = await detachWinner(client, row.id, treeId)
    if (winner === undefined) throw new ApiError('sandboxNotRunning')
    return cleansUp ? doomSiblings(client, treeId, row.workspace_id, LEASE_SECONDS) : []
  })
}

async function removeAll(control: SandboxesContext, siblings: readonly SandboxRow[], requestId: string) {
  const deleted: string[] = []
  const failures: Record<string, string> = {}
  await Promise.all(
    siblings.map(async (sibling) => {
      try {
        await removeSandbox(control, sibling, requestId)
        deleted.push(sibling.id)
      } catch (error) {
        control.log.warn({ err: error, req_id: requestId, sandbox: sibling.id }, 'sibling not deleted yet')
        failures[sibling.id] = error instanceof ApiError ? error.message : 'internal error'
        await retryDeletion(control.database.pool, sibling.id, RETRY_SECONDS)
      }
    }),
  )
  return { deleted, failures }
}
