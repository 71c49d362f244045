import type { WorkspaceId } from '@offshoot/contract/ids'
import { listOnAgent } from '../../fleet/volume-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import type { VolumeRow } from './volume-row.ts'

/** The disk usage of each volume on its agent, by id. Volumes of agents that do not answer are missing. */
export async function usedBytes(
  { fleet, log }: Pick<BillingContext, 'fleet' | 'log'>,
  workspaceId: WorkspaceId,
  rows: readonly VolumeRow[],
  requestId: string,
): Promise<ReadonlyMap<string, number>> {
  const agents = new Set(rows.map((row) => row.agent_id))
  const lists = await Promise.all(
    [...agents].map(async (agentId) => {
      const agent = fleet.byId(agentId)
      if (agent === undefined || !agent.isReachable) return []
      try {
        return (await listOnAgent(agent.client, workspaceId, requestId)).volumes
      } catch (error) {
        log.warn({ err: error, agent: agentId, req_id: requestId }, 'volumes of an agent not known')
        return []
      }
    }),
  )
  return new Map(lists.flat().map(({ id, used_bytes: bytes }) => [id, bytes]))
}
