import { randomUUID } from 'node:crypto'
import type { AgentBuild } from '@offshoot/contract/agent-build'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { AgentClient } from '../../fleet/agent-client.ts'
import { listBuilds } from '../../fleet/build-calls.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Database } from '../../platform/db/database.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { endBuild, openBuilds, setBuildProgress, setBuildSource } from './build-statements.ts'
import { putTemplate } from './template-statements.ts'

/** Seconds after which a build that its agent does not know counts as lost or never started. */
const LOST_SECONDS = 120

/**
 * Updates the rows of builds in progress with what their agents report. When a build is done, its template replaces the
 * one with the same name. Any process may run this at any time, because only one of them can end a row. Agents are
 * asked in parallel, so one that does not answer does not delay the others.
 * @returns whether builds are in progress
 */
export async function settleBuilds(
  { database, fleet }: { database: Database; fleet: Fleet },
  log: Pick<Logger, 'warn'>,
): Promise<boolean> {
  const open = await openBuilds(database.pool, LOST_SECONDS)
  const byAgent = Map.groupBy(open, (row) => row.agent_id)
  await Promise.all(
    [...byAgent].map(async ([agentId, rows]) => {
      const agent = fleet.byId(agentId)
      if (agent === undefined) return
      await settleOfAgent(database.pool, agent.client, agentId, rows).catch((error: unknown) => {
        log.warn({ err: error, agent: agentId }, 'builds of an agent not updated: trying again later')
      })
    }),
  )
  return open.length > 0
}

async function settleOfAgent(
  pool: pg.Pool,
  client: AgentClient,
  agentId: string,
  rows: Awaited<ReturnType<typeof openBuilds>>,
): Promise<void> {
  const builds = new Map((await listBuilds(client, randomUUID())).map((build) => [build.id, build]))
  for (const { id, size_mb: sizeMb, is_abandoned: isAbandoned } of rows) {
    const build = builds.get(id)
    if (build !== undefined && sizeMb === 0) await setBuildSource(pool, id, build.size_mb, build.bytes)
    if (build !== undefined) await settleBuild(pool, agentId, build)
    else if (isAbandoned) {
      const error = 'waiting: the build was lost; start it again'
      await endBuild(pool, id, 'failed', 'waiting', 0, error, null, new Date().toISOString())
    }
  }
}

async function settleBuild(pool: pg.Pool, agentId: string, build: AgentBuild): Promise<void> {
  const { id, status, stage, percent, error, started_at: startedAt, ended_at: endedAt, template } = build
  if (endedAt === null) {
    await setBuildProgress(pool, id, status, stage, percent, startedAt)
    return
  }
  await transaction(pool, async (client) => {
    const [row] = await endBuild(client, id, status, stage, percent, error, startedAt, endedAt)
    if (row === undefined || template === null) return
    const { rootfs_path: path, size_bytes: bytes, cpu, memory_mb: memoryMb, meta } = template
    await putTemplate(client, id, agentId, row.workspace_id, row.name, path, bytes, cpu, memoryMb, JSON.stringify(meta))
  })
}
