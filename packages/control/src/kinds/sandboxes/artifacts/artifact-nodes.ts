import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { WorkspaceId } from '@offshoot/contract/ids'
import { AgentRefused } from '../../../fleet/agent-failure.ts'
import type { CreateOutcome } from '../../../fleet/create-outcome.ts'
import { type Candidate, isCandidate, isOpen, isWilling, ranked } from '../../../fleet/placement/candidates.ts'
import { type ArtifactPlaces, placesOfArtifact } from '../../../fleet/artifact-host-statements.ts'
import type { Artifact } from '../../../fleet/artifact.ts'
import { destinations } from '../moves/destinations.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import { bringArtifact } from './bring-artifact.ts'

/** Milliseconds of a create's time that bringing the artifact leaves for the restore. */
const RESERVED_MS = 20_000

/** Makes a host able to restore the sandbox. @returns why it cannot; `null`: it can */
export type Prepare = (
  node: Candidate,
  asked: { readonly requestId: string; readonly timeoutMs: number },
) => Promise<CreateOutcome | null>

/**
 * The hosts that may create from an artifact, best first: those that have it, then those that can get it.
 * @param isFeature restored databases are where their backup is, also if the host is cordoned; they are elsewhere only while
 *   no host that has it answers
 * @throws ApiError 502 if there is none
 */
export async function artifactNodes(
  control: SandboxesContext,
  artifact: Artifact,
  workspaceId: WorkspaceId,
  isFeature: boolean,
): Promise<{ readonly nodes: readonly [Candidate, ...Candidate[]]; readonly prepare: Prepare }> {
  const { database, fleet } = control
  const [places] = await placesOfArtifact(database.pool, artifact.id)
  if (places === undefined) throw new ApiError('notFound', { detail: `unknown ${artifact.kind}: ${artifact.id}` })
  const having = havingIt(control, places)
  const usable = isFeature
    ? having
    : ranked(having.filter((node) => isOpen(node) && fleet.rules.allows(node, workspaceId)))
  // What does not answer now may only be slow, or have it alone.
  const [first, ...rest] = [
    ...usable.filter(isWilling),
    ...(isFeature && isAnswered(having) ? [] : thoseThatCanGet(control, places, workspaceId, having)),
    ...usable.filter((node) => !isWilling(node)),
  ]
  if (first === undefined) throw refusal(control, places, workspaceId, isFeature)
  const ids = new Set(having.map(({ info }) => info.agent_id))
  const prepare: Prepare = async (node, asked) =>
    ids.has(node.info.agent_id) ? null : bring(control, artifact, node, asked)
  return { nodes: [first, ...rest], prepare }
}

/**
 * The hosts that answer and may create from an artifact, best first: those that have it, then those that can
 * get it ({@link bringArtifact}).
 */
export async function hostsForArtifact(
  control: SandboxesContext,
  { id, workspace_id: workspaceId, tried }: HostsAsked,
): Promise<Candidate[]> {
  const { database, fleet } = control
  const [places] = await placesOfArtifact(database.pool, id)
  if (places === undefined) return []
  const having = havingIt(control, places)
  const open = ranked(fleet.rules.allowed(having, workspaceId).filter((node) => isOpen(node) && isWilling(node)))
  const all = [...open, ...thoseThatCanGet(control, places, workspaceId, having)]
  return all.filter(({ info }) => !tried.includes(info.agent_id))
}

interface HostsAsked {
  /** Of the artifact. */
  readonly id: string
  readonly workspace_id: WorkspaceId
  /** Hosts that must not do it. */
  readonly tried: readonly string[]
}

function havingIt({ fleet }: SandboxesContext, { home, hosts, is_missing: isMissing }: ArtifactPlaces): Candidate[] {
  const ids = isMissing ? hosts : [home, ...hosts]
  return ids.flatMap((id) => fleet.byId(id) ?? []).filter(isCandidate)
}

function isAnswered(nodes: readonly Candidate[]): boolean {
  return nodes.some(({ isReachable }) => isReachable)
}

/** A home that has lost it comes last, because it may lose it again. */
function thoseThatCanGet(
  { fleet, storedStreams }: SandboxesContext,
  { home, accelerator, qemu_version, is_missing: isMissing, is_stored: isStored, leaving, is_bound }: ArtifactPlaces,
  workspaceId: WorkspaceId,
  having: readonly Candidate[],
): Candidate[] {
  const isGiven = isAnswered(having) || (isStored && storedStreams !== null)
  if (!isGiven) return []
  const tried = [...having.map(({ info }) => info.agent_id), ...leaving]
  const able = destinations(
    fleet,
    { agent_id: isMissing ? null : home, accelerator, qemu_version },
    { workspace_id: workspaceId, tried, is_bound },
  )
  const isHome = ({ info }: Candidate) => info.agent_id === home
  return able.toSorted((a, b) => Number(isHome(a)) - Number(isHome(b)))
}

/** As before there were copies: why its home cannot do it. */
function refusal(
  { fleet }: SandboxesContext,
  { home }: ArtifactPlaces,
  workspaceId: WorkspaceId,
  isFeature: boolean,
): ApiError {
  const node = fleet.byId(home)
  if (node !== undefined && isCandidate(node) && !isFeature) fleet.rules.refuse(node, workspaceId)
  return new ApiError('agentUnreachable')
}

/** If it takes too long, the copy goes on, and a later create finds it. */
async function bring(
  control: SandboxesContext,
  artifact: Artifact,
  node: Candidate,
  { requestId, timeoutMs }: Parameters<Prepare>[1],
): Promise<CreateOutcome | null> {
  const waited = new AbortController()
  const bringing = bringArtifact(control, artifact, node, requestId, new AbortController().signal)
  // Whoever waits no more gets no error either.
  bringing.catch(() => undefined)
  const tooLong = async () => {
    await delay(Math.max(0, timeoutMs - RESERVED_MS), undefined, { signal: waited.signal })
    throw new ApiError('noComputeNode', { detail: `the ${artifact.kind} is still being copied to another host` })
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
