import type { AgentFork, ForkOnAgentBody } from '@offshoot/contract/agent-api'
import { ApiError } from '@offshoot/contract/errors'
import { AgentUnreachable, refusalOf } from '../../../fleet/agent-failure.ts'
import { fork } from '../../../fleet/sandbox-calls.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { admitSandboxes } from '../../billing/limits/admit-sandboxes.ts'
import { liveAgent, subjectOf } from '../../../fleet/live-agent.ts'
import type { SandboxRow } from '../../../fleet/sandbox-row.ts'
import { removeCreating } from '../model/sandbox-statements.ts'
import { settleCreated } from '../model/settle-created.ts'
import { removeCreatingSnapshot, setSnapshotReady } from '../snapshots/snapshot-statements.ts'
import { stageFork } from './fork-statements.ts'
import { type ForkPlan, type ForkRequest, planFork } from './plan-fork.ts'

export interface Forked extends Omit<ForkPlan, 'children'> {
  /** In the order of their index; at least one. */
  readonly children: readonly [SandboxRow, ...SandboxRow[]]
  readonly errors: readonly ForkError[]
}

interface ForkError {
  readonly index: number
  readonly error: string
}

/**
 * Forks a sandbox. Like a create, it inserts the rows of the snapshot and all children before it asks the agent.
 *
 * The rows of failed children are removed. If the agent's answer is lost, all rows are removed, and reconciliation
 * deletes what the agent made. If the process dies in between, the log sets the children's rows to `running` and
 * reconciliation sets the snapshot's to `ready`, or both remove the rows.
 *
 * @throws ApiError 502 if the host may get nothing new of the workspace; also if no child started: then with the first
 * child's error, and all errors in `errors`
 */
export async function forkSandbox(control: SandboxesContext, request: ForkRequest, requestId: string): Promise<Forked> {
  const { parent, manager = null } = request
  const agent = liveAgent(control, parent)
  // Branches of a database are on the host of their parent.
  if (manager === null) control.fleet.rules.refuse(control.fleet.byId(parent.agent_id), parent.workspace_id)
  const { pool } = control.database
  const { children: planned, ...plan } = planFork(request)
  const { snapshotId, treeId } = plan
  const wanted = { ids: idsOf(planned), cpu: parent.cpu, memoryMib: parent.memory_mb }
  const { inserted: staged, limits } = await admitSandboxes(control, parent.workspace_id, wanted, (on) =>
    stageFork(
      on,
      parent.id,
      snapshotId,
      treeId,
      control.lock.number,
      JSON.stringify(planned),
      manager?.by ?? null,
      manager?.id ?? null,
    ),
  )
  const [row] = staged
  if (row === undefined) throw new ApiError('sandboxNotFound')
  const body: ForkOnAgentBody = {
    snapshot_id: snapshotId,
    ...(treeId !== null && { tree_id: treeId }),
    children: planned.map(({ id, index }) => ({ id, index })),
    visibility: row.visibility,
    limits,
  }
  const made = await fork(agent, subjectOf(parent, requestId), body).catch(async (error: unknown) => {
    await Promise.all([removeCreating(pool, idsOf(planned)), removeCreatingSnapshot(pool, snapshotId)])
    if (error instanceof AgentUnreachable && error.mayHaveBegun) control.fleet.reconcileSoon(parent.agent_id)
    throw refusalOf(error)
  })
  // The two may be written in any order: the children's rows name the snapshot from the start, so it never counts as
  // unused.
  const [{ children, errors }] = await Promise.all([
    settleChildren(control, parent, idsOf(planned), made, requestId),
    setSnapshotReady(pool, snapshotId, made.snapshot.size_bytes),
  ])
  const [first, ...rest] = children
  if (first === undefined) throw noChild(made, errors)
  control.metrics.creates.inc(children.length)
  return { ...plan, children: [first, ...rest], errors }
}

/** @param ids of all children, in the order of their index */
async function settleChildren(
  control: SandboxesContext,
  parent: SandboxRow,
  ids: readonly string[],
  made: AgentFork,
  requestId: string,
) {
  const running = new Set(idsOf(made.children))
  const failedIds = ids.filter((id) => !running.has(id))
  if (failedIds.length > 0) await removeCreating(control.database.pool, failedIds)
  const settled = await Promise.all(
    made.children.map((child) =>
      settleCreated(control, parent.agent_id, child, requestId).catch((error: unknown): ForkError => {
        if (!(error instanceof ApiError)) throw error
        return { index: ids.indexOf(child.id), error: error.body.detail ?? error.message }
      }),
    ),
  )
  const children = settled.filter((one) => 'id' in one).sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  const failed = made.errors.map(({ index, error }) => ({ index, error }))
  const errors = [...failed, ...settled.filter((one) => 'index' in one)].sort((a, b) => a.index - b.index)
  return { children, errors }
}

function noChild({ errors: [first] }: AgentFork, errors: readonly ForkError[]): ApiError {
  if (first === undefined) return new ApiError('conflict', { detail: 'the children were deleted meanwhile', errors })
  const kind = first.status === 507 ? 'insufficientMemory' : 'internal'
  return new ApiError(kind, { error: first.error, errors })
}

function idsOf(all: readonly { readonly id: string }[]): string[] {
  return all.map(({ id }) => id)
}
