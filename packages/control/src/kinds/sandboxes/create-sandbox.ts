import { ApiError } from '@offshoot/contract/errors'
import type { SandboxId, WorkspaceId } from '@offshoot/contract/ids'
import { type CreateSandboxBody, DEFAULT_IDLE_TIMEOUT_SECONDS, DEFAULT_TTL_SECONDS } from '@offshoot/contract/sandbox'
import type { SandboxLimits } from '@offshoot/contract/sandbox-limits'
import { refusalOf } from '../../fleet/agent-failure.ts'
import type { CreateOutcome } from '../../fleet/create-outcome.ts'
import type { SandboxesContext } from './model/sandboxes-context.ts'
import type { Queryable } from '../../platform/db/statement.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { admitSandboxes } from '../billing/limits/admit-sandboxes.ts'
import type { Candidate } from '../../fleet/placement/candidates.ts'
import { place } from '../../fleet/placement/place.ts'
import { type BootSource, bootSource } from './boot-source.ts'
import type { Manager, SandboxRow } from '../../fleet/sandbox-row.ts'
import { insertCreating, moveCreating, removeCreating } from './model/sandbox-statements.ts'
import { deletedMeanwhile, settleCreated } from './model/settle-created.ts'

export interface CreateRequest {
  /** An id that is not in use. */
  readonly id: SandboxId
  readonly workspaceId: WorkspaceId
  readonly requestId: string
  readonly body: CreateSandboxBody
  /** The feature that owns the sandbox, with the id of its resource. Absent: the sandbox is the workspace's own. */
  readonly manager?: Manager
  /** It takes the place of a sandbox that still counts, so the workspace's quota does not count it. */
  readonly isReplacement?: boolean
  /** The requesting caller; absent for a feature's sandbox. */
  readonly caller?: Caller
  /** Replaces the source that the body names. */
  readonly source?: BootSource
  /** Restores only the disk of the snapshot and boots from it, as after a power cut. */
  readonly withoutMemory?: boolean
}

/**
 * Creates a sandbox, in the order of docs/internal-api.md. Control inserts the row before it asks any agent. The row
 * names the agent that is being asked, and is removed if no agent could do it. If the process dies in between,
 * reconciliation removes the row, or the agent's log sets it to `running`.
 */
export async function createSandbox(control: SandboxesContext, request: CreateRequest): Promise<SandboxRow> {
  const { id, workspaceId, body, manager } = request
  const source = request.source ?? (await bootSource(control, workspaceId, body, request.caller ?? null))
  const { template, nodes } = source
  const wanted = {
    ids: [id],
    cpu: template.cpu,
    memoryMib: template.memory_mb,
    isReplacement: request.isReplacement === true,
  }
  const insert = (on: Queryable) =>
    insertCreating(
      on,
      id,
      workspaceId,
      nodes[0].info.agent_id,
      control.lock.number,
      template.name,
      template.cpu,
      template.memory_mb,
      JSON.stringify(body.metadata ?? {}),
      body.persistent ?? false,
      body.ttl_seconds ?? DEFAULT_TTL_SECONDS,
      body.idle_timeout_seconds ?? DEFAULT_IDLE_TIMEOUT_SECONDS,
      source.snapshotId,
      source.egress,
      JSON.stringify(body.volumes?.map(({ name, read_only = false }) => ({ name, read_only })) ?? []),
      manager?.by ?? null,
      manager?.id ?? null,
      body.on_timeout ?? 'delete',
      body.visibility ?? source.visibility,
    )
  // Internal sandboxes (backup verification) do not count against the workspace's quota.
  const admitted =
    manager?.by === 'proof'
      ? await insert(control.database.pool).then(() => null)
      : await admitSandboxes(control, workspaceId, wanted, insert)
  const { agentId, sandbox } = await place(nodes, template.memory_mb, (node, timeoutMs) =>
    askNode(control, request, { id, limits: admitted?.limits, timeoutMs }, source, node),
  ).catch(async (error: unknown) => {
    await removeCreating(control.database.pool, [id])
    throw error
  })
  return settleCreated(control, agentId, sandbox, request.requestId)
}

interface Asked {
  readonly id: SandboxId
  readonly limits: SandboxLimits | undefined
  /** Milliseconds for the answer. */
  readonly timeoutMs: number
}

async function askNode(
  control: SandboxesContext,
  { workspaceId, requestId, body, withoutMemory = false }: CreateRequest,
  { id, limits, timeoutMs }: Asked,
  { template: source, snapshotId, egress, visibility, volumes, nodes, prepare }: BootSource,
  node: Candidate,
): Promise<CreateOutcome> {
  const begunAtMs = performance.now()
  const agentId = node.info.agent_id
  if (node !== nodes[0]) {
    const [moved] = await moveCreating(control.database.pool, id, agentId)
    if (moved === undefined) throw deletedMeanwhile()
  }
  const failed = (await prepare?.(node, { requestId, timeoutMs })) ?? null
  if (failed !== null) return failed
  const { env = {}, persistent, idle_timeout_seconds } = body
  const outcome = await node.client.create(
    {
      id,
      template: source.built?.id ?? source.name,
      env,
      ...(snapshotId !== null && { snapshot_id: snapshotId }),
      ...(withoutMemory && { without_memory: true }),
      ...(volumes.length > 0 && { volumes: [...volumes] }),
      persistent,
      idle_timeout_seconds,
      egress,
      visibility: body.visibility ?? visibility,
      ...(limits && { limits }),
    },
    workspaceId,
    requestId,
    Math.ceil(timeoutMs - (performance.now() - begunAtMs)),
  )
  if (outcome.kind === 'created') return outcome
  control.log.warn({ req_id: requestId, agent: agentId, sandbox: id, err: outcome.error }, 'create failed on an agent')
  // The agent may still create the VM, without a row or with a row that names another agent. Reconciliation deletes it.
  if (outcome.kind === 'unreachable' && outcome.mayHaveBegun) control.fleet.reconcileSoon(agentId)
  if (outcome.kind === 'refused') throwWhatIsMeantForCallers(outcome.error, snapshotId !== null || volumes.length > 0)
  return outcome
}

/**
 * Throws errors that the caller may see: why their own snapshot cannot be restored, or which sandbox has their volume.
 * For a template, only that no credit is left.
 * @param isOwn whether an object of the caller is involved
 */
function throwWhatIsMeantForCallers(error: Error, isOwn: boolean): void {
  const refusal = refusalOf(error)
  if (refusal instanceof ApiError && (isOwn || refusal.kind === 'creditExhausted')) throw refusal
}
