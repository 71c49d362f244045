import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import type { CreateOutcome } from '../../../fleet/create-outcome.ts'
import { type Candidate, isCandidate, isOpen, isWilling, ranked } from '../../../fleet/placement/candidates.ts'
import { placesOfSnapshot, type SnapshotPlaces } from '../../../fleet/snapshot-host-statements.ts'
import { destinations } from '../moves/destinations.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { bringSnapshot } from './bring-snapshot.ts'
import type { SnapshotRow } from '../snapshots/snapshot-row.ts'

/** Milliseconds of a create's time that bringing the snapshot leaves for the restore. */
const RESERVED_MS = 20_000

/** Makes a host able to restore the sandbox. @returns why it cannot; `null`: it can */
export type Prepare = (
  node: Candidate,
  asked: { readonly requestId: string; readonly timeoutMs: number },
) => Promise<CreateOutcome | null>

/**
 * The hosts that may restore a snapshot, best first: those that have it, then those that can get it.
 * @param isFeature restored databases are where their backup is, also if the host is cordoned; they are elsewhere only while
 *   no host that has it answers
 * @throws ApiError 502 if there is none
 */
export async function snapshotNodes(
  control: SandboxesContext,
  row: SnapshotRow,
  workspaceId: WorkspaceId,
  isFeature: boolean,
): Promise<{ readonly nodes: readonly [Candidate, ...Candidate[]]; readonly prepare: Prepare }> {
  const { database, fleet } = control
  const [places] = await placesOfSnapshot(database.pool, row.id)
  if (places === undefined) throw new ApiError('notFound', { detail: `unknown snapshot: ${row.id}` })
  const having = havingIt(control, places)
  const usable = isFeature
    ? having
    : ranked(having.filter((node) => isOpen(node) && fleet.rules.allows(node, workspaceId)))
  // What does not answer now may only be slow, or have the snapshot alone.
  const [first, ...rest] = [
    ...usable.filter(isWilling),
    ...(isFeature && isAnswered(having) ? [] : thoseThatCanGet(control, places, workspaceId, having)),
    ...usable.filter((node) => !isWilling(node)),
  ]
  if (first === undefined) throw refusal(control, row, workspaceId, isFeature)
  const ids = new Set(having.map(({ info }) => info.agent_id))
  const prepare: Prepare = async (node, asked) =>
    ids.has(node.info.agent_id) ? null : bring(control, row, node, asked)
  return { nodes: [first, ...rest], prepare }
}

function havingIt({ fleet }: SandboxesContext, { home, hosts, is_missing: isMissing }: SnapshotPlaces): Candidate[] {
  const ids = isMissing ? hosts : [home, ...hosts]
  return ids.flatMap((id) => fleet.byId(id) ?? []).filter(isCandidate)
}

function isAnswered(nodes: readonly Candidate[]): boolean {
  return nodes.some(({ isReachable }) => isReachable)
}

function thoseThatCanGet(
  { fleet, storedStreams }: SandboxesContext,
  { home, accelerator, qemu_version, is_stored: isStored, leaving }: SnapshotPlaces,
  workspaceId: WorkspaceId,
  having: readonly Candidate[],
): Candidate[] {
  const isGiven = isAnswered(having) || (isStored && storedStreams !== null)
  if (!isGiven) return []
  const tried = [...having.map(({ info }) => info.agent_id), ...leaving]
  return destinations(fleet, { agent_id: home, accelerator, qemu_version }, { workspace_id: workspaceId, tried })
}

/** As before there were copies: why the host of the row cannot do it. */
function refusal(
  { fleet }: SandboxesContext,
  row: SnapshotRow,
  workspaceId: WorkspaceId,
  isFeature: boolean,
): ApiError {
  const node = fleet.byId(row.agent_id)
  if (node !== undefined && isCandidate(node) && !isFeature) fleet.rules.refuse(node, workspaceId)
  return new ApiError('agentUnreachable')
}

/** If it takes too long, the copy goes on, and a later create finds it. */
async function bring(
  control: SandboxesContext,
  row: SnapshotRow,
  node: Candidate,
  { requestId, timeoutMs }: Parameters<Prepare>[1],
): Promise<CreateOutcome | null> {
  const waited = new AbortController()
  const bringing = bringSnapshot(control, row, node, requestId, new AbortController().signal)
  // Whoever waits no more gets no error either.
  bringing.catch(() => undefined)
  const tooLong = async () => {
    await delay(Math.max(0, timeoutMs - RESERVED_MS), undefined, { signal: waited.signal })
    throw new ApiError('noComputeNode', { detail: 'the snapshot is still being copied to another host' })
  }
  try {
    await Promise.race([bringing, tooLong()])
    return null
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'noComputeNode') throw error
    const failure = error instanceof Error ? error : new Error(String(error))
    const isFull = error instanceof AgentRefused && error.status === 507
    return isFull ? { kind: 'no-room', error: failure } : { kind: 'unreachable', mayHaveBegun: false, error: failure }
  } finally {
    waited.abort()
  }
}
