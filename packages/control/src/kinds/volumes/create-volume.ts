import { ApiError } from '@offshoot/contract/errors'
import type { VolumeId, WorkspaceId } from '@offshoot/contract/ids'
import type { KnownAgent } from '../../fleet/agent-directory.ts'
import { AgentRefused, AgentUnreachable, refusalOf } from '../../fleet/agent-failure.ts'
import { createOnAgent } from '../../fleet/volume-calls.ts'
import type { BillingContext } from '../billing/model/billing-context.ts'
import { type Candidate, isCandidate, isOpen } from '../../fleet/placement/candidates.ts'
import { admitVolume } from './admit-volume.ts'
import type { VolumeRow } from './volume-row.ts'
import { insertCreatingVolume, moveCreatingVolume, removeCreatingVolume, setVolumeReady } from './volume-statements.ts'

export interface NewVolume {
  /** The request's resource id (`resourceIdOf`), so that the result of an interrupted request can be found. */
  readonly id: VolumeId
  readonly workspaceId: WorkspaceId
  readonly requestId: string
  readonly kind: VolumeRow['kind']
  readonly name: string
  readonly sizeMb: number
  /** The volume to copy, whose agent also gets the copy. */
  readonly from: VolumeRow | null
}

/**
 * Creates a volume. It inserts the row before it asks any agent, and removes it if no agent could create the volume. If
 * the process dies in between, reconciliation settles the row.
 * @throws ApiError 409 if the name is taken, 429, 502, 507
 */
export async function createVolume(control: BillingContext, wanted: NewVolume): Promise<VolumeRow> {
  const { id, workspaceId, kind, name, sizeMb } = wanted
  const [first, ...others] = nodesFor(control, wanted)
  if (first === undefined) {
    throw wanted.from === null ? control.fleet.rules.noHost(workspaceId) : new ApiError('agentUnreachable')
  }
  const { pool } = control.database
  await admitVolume(control, workspaceId, { kind, sizeMb }, (on) =>
    insertCreatingVolume(on, id, workspaceId, first.info.agent_id, control.lock.number, kind, name, sizeMb),
  )
  const made = await ask(control, wanted, [first, ...others]).catch(async (error: unknown) => {
    await removeCreatingVolume(pool, id)
    throw error
  })
  const [ready] = await setVolumeReady(pool, id, made.size_mb)
  if (ready === undefined) throw new ApiError('conflict', { detail: 'the creation of the volume was cancelled' })
  return ready
}

/** Asks one agent after the other while they have no room. */
async function ask(control: BillingContext, wanted: NewVolume, nodes: readonly Candidate[]) {
  const { id, workspaceId, requestId, name, sizeMb, from } = wanted
  const body = { id, name, size_mb: sizeMb, ...(from !== null && { from: from.id }) }
  let failure: unknown = new ApiError('noComputeNode')
  for (const { client, info } of nodes) {
    await moveCreatingVolume(control.database.pool, id, info.agent_id)
    try {
      return await createOnAgent(client, body, workspaceId, requestId)
    } catch (error) {
      failure = refusalOf(error)
      if (error instanceof AgentUnreachable) {
        // The agent may still create the volume, which then has no row.
        if (error.mayHaveBegun) control.fleet.reconcileSoon(info.agent_id)
        continue
      }
      if (!(error instanceof AgentRefused) || error.status !== 507) throw failure
    }
  }
  throw failure
}

function nodesFor({ fleet }: BillingContext, { from, workspaceId }: NewVolume): Candidate[] {
  const known: readonly KnownAgent[] = fleet.agents
  if (from !== null) {
    const nodes = known.filter(isCandidate).filter(({ info }) => info.agent_id === from.agent_id)
    fleet.rules.refuse(nodes[0], workspaceId)
    return nodes
  }
  const open = fleet.rules.allowed(known, workspaceId).filter(isOpen)
  return open.sort((a, b) => Number(b.isReachable) - Number(a.isReachable))
}
