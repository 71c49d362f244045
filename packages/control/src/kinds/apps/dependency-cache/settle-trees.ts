import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { AgentClient } from '../../../fleet/agent-client.ts'
import { removeArtifact } from '../../../fleet/artifact-calls.ts'
import { cancelOnAgent, listBuilds } from '../../../fleet/build-calls.ts'
import { agentOrRetired, type Remover } from '../../../fleet/agent-or-retired.ts'
import type { RowTask } from '../../../platform/jobs/task.ts'
import {
  disownTree,
  endOldTree,
  type MakingTreeRow,
  makingTrees,
  oldTreeIds,
  removeTreeRow,
  setTreeReady,
} from './tree-statements.ts'

/** Seconds after which a tree that its agent does not know counts as lost or never started. */
const LOST_SECONDS = 120

/**
 * Updates trees that are being created with what their agents report, and disowns failed ones. Agents are asked in
 * parallel, so one that does not answer does not delay the others.
 * @returns whether trees are being created
 */
export async function settleTrees({ database: { pool }, fleet }: Remover, log: Logger): Promise<boolean> {
  const making = await makingTrees(pool, LOST_SECONDS)
  const byAgent = Map.groupBy(making, (row) => row.agent_id)
  await Promise.all(
    [...byAgent].map(async ([agentId, rows]) => {
      const agent = fleet.byId(agentId)
      if (agent === undefined) return
      await settleOfAgent(pool, agent.client, rows, log).catch((error: unknown) => {
        log.warn({ err: error, agent: agentId }, 'dependency cache of an agent not updated: trying again later')
      })
    }),
  )
  return making.length > 0
}

async function settleOfAgent(
  pool: pg.Pool,
  client: AgentClient,
  rows: readonly MakingTreeRow[],
  log: Logger,
): Promise<void> {
  const builds = new Map((await listBuilds(client, randomUUID())).map((build) => [build.id, build]))
  for (const row of rows) {
    const outcome = outcomeOf(row, builds.get(row.id))
    if (outcome === 'ready') await setTreeReady(pool, row.id)
    if (outcome !== 'lost') continue
    log.warn({ tree: row.id, error: builds.get(row.id)?.error ?? null }, 'installed tree came to nothing')
    await disownTree(pool, row.id)
  }
}

function outcomeOf({ is_abandoned: isAbandoned }: MakingTreeRow, build: { status: string } | undefined) {
  if (build?.status === 'done') return 'ready'
  if (build?.status === 'failed') return 'lost'
  return build === undefined && isAbandoned ? 'lost' : 'making'
}

/** Deletes trees of deleted apps, replaced trees, and old ones. */
export function oldTrees(remover: Remover): RowTask {
  const { fleet, database } = remover
  return {
    name: 'remove-tree',
    due: (limit) => oldTreeIds(database.pool, limit, fleet.reachable),
    async work({ id, requestId }) {
      const [row] = await endOldTree(database.pool, id, fleet.reachable)
      if (row === undefined) return
      const { agent_id: agentId, workspace_id: workspaceId } = row
      const agent = await agentOrRetired(remover, agentId)
      if (agent !== null) {
        await cancelOnAgent(agent, { id, workspaceId, requestId })
        await removeArtifact(agent, { id, kind: 'template', workspace_id: workspaceId, requestId })
      }
      await removeTreeRow(database.pool, id)
    },
  }
}
