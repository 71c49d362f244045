import { randomUUID } from 'node:crypto'
import type { AgentSandbox } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { type CreateSandboxBody, DEFAULT_IDLE_TIMEOUT_SECONDS, DEFAULT_TTL_SECONDS } from '@offshoot/contract/sandbox'
import type { Control } from '../control.ts'
import { candidates, type Candidate } from '../scheduler/candidates.ts'
import { place } from '../scheduler/place.ts'
import { findTemplate } from '../templates/find-template.ts'
import type { SandboxRow } from './sandbox-row.ts'
import { insertCreating, moveCreating, removeCreating, sandboxById, setCreated } from './sandbox-statements.ts'

export interface CreateRequest {
  readonly workspaceId: WorkspaceId
  readonly requestId: string
  readonly body: CreateSandboxBody
}

/**
 * Makes a sandbox, in the order of ARCHITECTURE.md ("Create, step by step"): the row is there before any agent is asked,
 * and names the agent that is being asked; it goes again when none could do it. A process that dies in between leaves a
 * row that reconciliation removes, or that the agent's log brings to `running`.
 */
export async function createSandbox(control: Control, request: CreateRequest): Promise<SandboxRow> {
  const { workspaceId, body } = request
  const template = await findTemplate(control, workspaceId, body.template)
  refuseUnknownSources(body)
  const nodes = candidates(control.fleet.agents, template.name)
  const [first] = nodes
  if (first === undefined) throw new ApiError('noComputeNode')
  const id = randomUUID() as SandboxId
  await insertCreating(
    control.database.pool,
    id,
    workspaceId,
    first.info.agent_id,
    control.lock.number,
    template.name,
    template.cpu,
    template.memory_mb,
    JSON.stringify(body.metadata ?? {}),
    body.persistent ?? false,
    body.ttl_seconds ?? DEFAULT_TTL_SECONDS,
    body.idle_timeout_seconds ?? DEFAULT_IDLE_TIMEOUT_SECONDS,
  )
  const { agentId, sandbox } = await place(nodes, template.memory_mb, (node) =>
    askNode(control, request, id, node, first),
  ).catch(async (error: unknown) => {
    await removeCreating(control.database.pool, id)
    throw error
  })
  return finish(control, request, id, agentId, sandbox)
}

/** Snapshots and volumes are named by id; there is none yet, so every name is an unknown one. */
function refuseUnknownSources({ from_snapshot: snapshot, volumes = [] }: CreateSandboxBody): void {
  if (snapshot !== undefined) throw new ApiError('notFound', { detail: `unknown snapshot: ${snapshot}` })
  const [volume] = volumes
  if (volume !== undefined) throw new ApiError('notFound', { detail: `unknown volume: ${volume.name}` })
}

async function askNode(control: Control, request: CreateRequest, id: SandboxId, node: Candidate, first: Candidate) {
  const agentId = node.info.agent_id
  if (node !== first) {
    const [moved] = await moveCreating(control.database.pool, id, agentId)
    if (moved === undefined) throw deletedMeanwhile()
  }
  const { template, env = {} } = request.body
  const outcome = await node.client.create({ id, template, env }, request.workspaceId, request.requestId)
  if (outcome.kind === 'created') return outcome
  control.log.warn(
    { req_id: request.requestId, agent: agentId, sandbox: id, err: outcome.error },
    'create failed on an agent',
  )
  // A VM may still come of it there, without a row or with one that names another agent: reconciliation ends it.
  if (outcome.kind === 'unreachable' && outcome.mayHaveBegun) control.fleet.reconcileSoon(agentId)
  return outcome
}

/** The row takes what the agent answered, unless the log was faster; without a row there must not be a VM either. */
async function finish(
  { database, fleet }: Control,
  { workspaceId, requestId }: CreateRequest,
  id: SandboxId,
  agentId: string,
  made: AgentSandbox,
): Promise<SandboxRow> {
  const [updated] = await setCreated(
    database.pool,
    id,
    agentId,
    made.status,
    made.boot_ms,
    made.boot_mode,
    made.guest_ip,
    made.cpu,
    made.memory_mb,
    made.last_seq,
  )
  if (updated !== undefined) return updated
  const [current] = await sandboxById(database.pool, id)
  if (current !== undefined) return current
  await fleet.byId(agentId)?.client.remove(id, workspaceId, requestId)
  throw deletedMeanwhile()
}

function deletedMeanwhile(): ApiError {
  return new ApiError('conflict', { detail: 'the sandbox was deleted while it was being created' })
}
