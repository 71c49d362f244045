import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { KnownAgent } from '../../../fleet/agent-directory.ts'
import { AgentUnreachable } from '../../../fleet/agent-failure.ts'
import { removeFromAgent } from '../../../fleet/snapshot-calls.ts'
import { streamsOfSnapshot } from '../../../fleet/snapshot-copy-statements.ts'
import {
  beginSnapshotHost,
  hostOfSnapshot,
  hostsOfSnapshot,
  removeSnapshotHost,
  setSnapshotHostReady,
  settleHome,
} from '../../../fleet/snapshot-host-statements.ts'
import {
  copySnapshotToHost,
  importSnapshot,
  snapshotContent,
  type SnapshotImport,
} from '../../../fleet/snapshot-move-calls.ts'
import { bakesOf } from '../../../fleet/move-calls.ts'
import { lacksBake, SourceFailed } from '../../../fleet/stream-calls.ts'
import { joinStreams } from '../moves/join-streams.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'
import type { SnapshotRow } from '../snapshots/snapshot-row.ts'

/** Milliseconds between two looks whether another request has brought the snapshot. */
const LOOK_MS = 200

export type Brought = Pick<SnapshotRow, 'id' | 'workspace_id' | 'origin'>

/** A backup of a database is restored from its disk, so its copies lack the memory, which may be gigabytes. */
export function comesWithoutMemory({ origin }: { readonly origin: string }): boolean {
  return origin === 'backup'
}

/**
 * Brings a snapshot to a host, from another host that has it, else from the object store. However many ask at the same time,
 * in whichever process, it is brought once: the row of the host says who does. If that process dies, reconciliation settles
 * the row.
 * @throws ApiError 502, 507; SourceFailed; AgentRefused and AgentUnreachable of the host
 */
export async function bringSnapshot(
  control: SandboxesContext,
  snapshot: Brought,
  to: KnownAgent,
  requestId: string,
  signal: AbortSignal,
): Promise<void> {
  const { pool } = control.database
  const agentId = to.info?.agent_id ?? ''
  for (;;) {
    const [host] = await hostOfSnapshot(pool, snapshot.id, agentId)
    if (host?.state === 'ready') return
    if (host === undefined) {
      const [begun] = await beginSnapshotHost(pool, snapshot.id, agentId, control.lock.number)
      if (begun !== undefined) return bring(control, snapshot, { agentId, to, requestId, signal })
      const [other] = await hostOfSnapshot(pool, snapshot.id, agentId)
      if (other === undefined) {
        const detail = 'the snapshot was deleted, or has just left the host'
        throw new ApiError('noComputeNode', { detail })
      }
    }
    await delay(LOOK_MS, undefined, { signal })
  }
}

interface Bringing {
  readonly agentId: string
  readonly to: KnownAgent
  readonly requestId: string
  readonly signal: AbortSignal
}

async function bring(control: SandboxesContext, snapshot: Brought, bringing: Bringing): Promise<void> {
  const { database, log } = control
  const { agentId, to, requestId, signal } = bringing
  const { id, workspace_id: workspaceId } = snapshot
  const subject = { id, workspaceId, requestId }
  try {
    await send(control, snapshot, { destination: to.client, subject, signal }, agentId).catch(
      async (error: unknown) => {
        // The answer may be lost, and everything be there.
        if (!(error instanceof AgentUnreachable)) throw error
        await snapshotContent(to.client, subject).catch(() => Promise.reject(error))
      },
    )
    const [ready] = await setSnapshotHostReady(database.pool, id, agentId)
    if (ready === undefined) throw new ApiError('conflict', { detail: 'the snapshot was deleted' })
    await settleHome(database.pool, id)
    log.info({ snapshot: id, agent: agentId, req_id: requestId }, 'snapshot brought to a host')
  } catch (error) {
    log.warn({ err: error, snapshot: id, agent: agentId, req_id: requestId }, 'snapshot not brought to a host')
    // If the host does not answer, reconciliation settles the row.
    await removeFromAgent(to.client, subject).then(
      () => removeSnapshotHost(database.pool, id, agentId),
      () => undefined,
    )
    throw error
  }
}

/** Sends it from the first place that can give it. @throws the last failure */
async function send(control: SandboxesContext, snapshot: Brought, to: SnapshotImport, agentId: string): Promise<void> {
  const { database, fleet, log } = control
  let failure: unknown = new ApiError('agentUnreachable')
  for (const { agent_id: id, state } of await hostsOfSnapshot(database.pool, snapshot.id)) {
    const source = fleet.byId(id)
    if (state !== 'ready' || id === agentId || source?.isReachable !== true) continue
    try {
      await copySnapshotToHost({ ...to, source: source.client, withoutMemory: comesWithoutMemory(snapshot) })
      return
    } catch (error) {
      if (!(error instanceof SourceFailed)) throw error
      log.warn({ err: error, snapshot: snapshot.id, agent: id }, 'snapshot not given away by its host')
      failure = error
    }
  }
  if (!(await sendStored(control, snapshot, to))) throw failure
}

/** @returns whether there is a stored copy */
async function sendStored({ database, storedStreams }: SandboxesContext, { id }: Brought, to: SnapshotImport) {
  const streams = storedStreams === null ? [] : await streamsOfSnapshot(database.pool, id)
  const own = streams.find(({ bake: hash }) => hash === null)
  const bake = streams.find(({ bake: hash }) => hash !== null)
  if (storedStreams === null || own === undefined || bake === undefined) return false
  const sendWith = (withBake: boolean) =>
    importSnapshot(
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
