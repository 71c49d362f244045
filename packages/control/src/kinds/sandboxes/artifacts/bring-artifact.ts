import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { KnownAgent } from '../../../fleet/agent-directory.ts'
import { AgentUnreachable } from '../../../fleet/agent-failure.ts'
import {
  artifactContent,
  type ArtifactImport,
  copyArtifactToHost,
  importArtifact,
  removeArtifact,
} from '../../../fleet/artifact-calls.ts'
import { streamsOfArtifact } from '../../../fleet/artifact-copy-statements.ts'
import {
  abandonArtifactHost,
  beginArtifactHost,
  hostOfArtifact,
  hostsOfArtifact,
  removeArtifactHost,
  setArtifactHostReady,
  settleHome,
} from '../../../fleet/artifact-host-statements.ts'
import { type Artifact, comesWithoutMemory } from '../../../fleet/artifact.ts'
import { bakesOf } from '../../../fleet/move-calls.ts'
import { lacksBake, SourceFailed } from '../../../fleet/stream-calls.ts'
import { joinStreams } from '../moves/join-streams.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'

/** Milliseconds between two looks whether another request has brought the artifact. */
const LOOK_MS = 200

/**
 * Brings an artifact to a host, from another host that has it, else from the object store. However many ask at the same time,
 * in whichever process, it is brought once: the row of the host says who does. If that process dies, reconciliation settles
 * the row.
 * @throws ApiError 502, 507; SourceFailed; AgentRefused and AgentUnreachable of the host
 */
export async function bringArtifact(
  control: SandboxesContext,
  artifact: Artifact,
  to: KnownAgent,
  requestId: string,
  signal: AbortSignal,
): Promise<void> {
  const { pool } = control.database
  const agentId = to.info?.agent_id ?? ''
  for (;;) {
    const [host] = await hostOfArtifact(pool, artifact.id, agentId)
    if (host?.state === 'ready') return
    if (host === undefined) {
      const [begun] = await beginArtifactHost(pool, artifact.id, agentId, control.lock.number)
      if (begun !== undefined) return bring(control, artifact, { ...begun, agentId, to, requestId, signal })
      const [other] = await hostOfArtifact(pool, artifact.id, agentId)
      if (other === undefined) {
        const detail = `the ${artifact.kind} was deleted, or has just left the host`
        throw new ApiError('noComputeNode', { detail })
      }
    }
    await delay(LOOK_MS, undefined, { signal })
  }
}

interface Bringing {
  /** The host is the home of the artifact, and has lost it. */
  readonly is_home: boolean
  readonly agentId: string
  readonly to: KnownAgent
  readonly requestId: string
  readonly signal: AbortSignal
}

async function bring(control: SandboxesContext, artifact: Artifact, bringing: Bringing): Promise<void> {
  const { database, log } = control
  const { is_home: isHome, agentId, to, requestId, signal } = bringing
  const { id, kind, workspace_id } = artifact
  const subject = { id, kind, workspace_id, requestId }
  const about = { [kind]: id, agent: agentId, req_id: requestId }
  try {
    await send(control, artifact, { destination: to.client, subject, signal }, agentId).catch(
      async (error: unknown) => {
        // The answer may be lost, and everything be there.
        if (!(error instanceof AgentUnreachable)) throw error
        await artifactContent(to.client, subject, signal).catch(() => Promise.reject(error))
      },
    )
    await setArtifactHostReady(database.pool, id, agentId)
    await settleHome(database.pool, id)
    const [ready] = await hostOfArtifact(database.pool, id, agentId)
    if (ready === undefined) throw new ApiError('conflict', { detail: `the ${kind} was deleted` })
    log.info(about, `${kind} brought to a host`)
  } catch (error) {
    log.warn({ ...about, err: error }, `${kind} not brought to a host`)
    // If the host does not answer, reconciliation settles the row. A home may have found what it had lost, so nothing is
    // removed there.
    await (isHome ? Promise.resolve() : removeArtifact(to.client, subject)).then(
      () => removeArtifactHost(database.pool, id, agentId),
      () => abandonArtifactHost(database.pool, id, agentId),
    )
    throw error
  }
}

/** Sends it from the first place that can give it. @throws the last failure */
async function send(control: SandboxesContext, artifact: Artifact, to: ArtifactImport, agentId: string): Promise<void> {
  const { database, fleet, log } = control
  let failure: unknown = new ApiError('agentUnreachable')
  for (const { agent_id: id, state } of await hostsOfArtifact(database.pool, artifact.id)) {
    const source = fleet.byId(id)
    if (state !== 'ready' || id === agentId || source?.isReachable !== true) continue
    try {
      await copyArtifactToHost({ ...to, source, withoutMemory: comesWithoutMemory(artifact) })
      return
    } catch (error) {
      if (!(error instanceof SourceFailed)) throw error
      log.warn({ err: error, [artifact.kind]: artifact.id, agent: id }, `${artifact.kind} not given away by its host`)
      failure = error
    }
  }
  if (!(await sendStored(control, artifact, to))) throw failure
}

/** @returns whether there is a stored copy */
async function sendStored({ database, storedStreams }: SandboxesContext, { id }: Artifact, to: ArtifactImport) {
  const streams = storedStreams === null ? [] : await streamsOfArtifact(database.pool, id)
  const own = streams.find(({ bake: hash }) => hash === null)
  const bake = streams.find(({ bake: hash }) => hash !== null)
  if (storedStreams === null || own === undefined) return false
  if (bake === undefined) {
    await importArtifact((signal) => storedStreams.read(own, signal), to)
    return true
  }
  const sendWith = (withBake: boolean) =>
    importArtifact(
      (signal) =>
        joinStreams(storedStreams.read(own, signal), withBake ? storedStreams.read(bake, signal) : null, null),
      to,
    )
  const hasBake = (await bakesOf(to.destination, to.subject.requestId)).some((hash) => hash === bake.bake)
  await sendWith(!hasBake).catch((error: unknown) => {
    if (!hasBake || !lacksBake(error)) throw error
    return sendWith(true)
  })
  return true
}
