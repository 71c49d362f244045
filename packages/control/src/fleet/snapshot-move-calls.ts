import { Readable } from 'node:stream'
import { agentSnapshotContent, type AgentSnapshotContent, NO_SNAPSHOT } from '@offshoot/contract/agent-move'
import type { AgentClient } from './agent-client.ts'
import { AgentRefused } from './agent-failure.ts'
import { bakesOf } from './move-calls.ts'
import type { Subject } from './sandbox-calls.ts'
import { lacksBake, openExport, sendImport, SourceFailed } from './stream-calls.ts'

/** Milliseconds to read a bake that was not read before. */
const CONTENT_MS = 300_000
/** Milliseconds without progress after which a copy is given up. The destination verifies everything after the last byte. */
const STALLED_MS = 300_000

/** Whether a refusal says that the agent's version knows no moves of snapshots. */
export function isTooOld(error: unknown): boolean {
  return error instanceof AgentRefused && error.status === 404 && error.body.detail !== NO_SNAPSHOT
}

/** What an export of the snapshot has. @throws SourceFailed */
export async function snapshotContent(
  source: AgentClient,
  { id, workspaceId, requestId }: Subject,
): Promise<AgentSnapshotContent> {
  const path = `/v1/snapshots/${id}/content`
  try {
    return agentSnapshotContent.parse(
      await source.ask({ method: 'GET', path, workspaceId, requestId, timeoutMs: CONTENT_MS }),
    )
  } catch (error) {
    throw failureOf(error)
  }
}

function failureOf(error: unknown): SourceFailed {
  const text = isTooOld(error) ? 'the version of the agent is too old to give snapshots away' : 'the source refused'
  return new SourceFailed(text, { cause: error })
}

/** What a stream of a snapshot may lack. */
export interface SnapshotParts {
  /** Bakes that the stream may lack. */
  readonly have: readonly string[]
  /** Nothing but the bake. */
  readonly only?: 'bake'
  /** Only for snapshots of databases: without it, the snapshot can be used without its memory only. */
  readonly withoutMemory?: boolean
}

/** The stream of a snapshot. The caller must read or destroy it. @throws SourceFailed */
export async function exportSnapshot(
  source: AgentClient,
  { id, workspaceId, requestId }: Subject,
  { have, only, withoutMemory }: SnapshotParts,
  signal: AbortSignal,
): Promise<Readable> {
  const query = new URLSearchParams({ ...(only && { only }), ...(withoutMemory === true && { memory: 'none' }) })
  for (const hash of have) query.append('have', hash)
  const path = `/v1/snapshots/${id}/export?${query.toString()}`
  return openExport({ client: source, path, workspaceId, requestId, signal }, only)
}

export interface SnapshotImport {
  readonly destination: AgentClient
  /** The snapshot. */
  readonly subject: Subject
  readonly signal: AbortSignal
}

/**
 * Sends the stream of a snapshot to the destination, which has it when this resolves. A host that has it already keeps
 * what it has.
 * @param open opens the stream
 * @returns the number of bytes
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function importSnapshot(
  open: (signal: AbortSignal) => AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer>>,
  { destination, subject: { id, workspaceId, requestId }, signal }: SnapshotImport,
): Promise<number> {
  const stalled = new AbortController()
  const stop = () => stalled.abort(new Error('the copy makes no progress'))
  const timer = setTimeout(stop, STALLED_MS)
  const both = AbortSignal.any([signal, stalled.signal])
  let bytes = 0
  const onBytes = (count: number) => {
    bytes += count
    timer.refresh()
  }
  let source: AsyncIterable<Buffer> | undefined
  try {
    source = await open(both)
    const path = `/v1/snapshots/${id}/import`
    await sendImport(source, { client: destination, path, workspaceId, requestId, signal: both }, onBytes)
    return bytes
  } finally {
    clearTimeout(timer)
    if (source instanceof Readable) source.destroy()
  }
}

export interface SnapshotCopy extends SnapshotImport, Pick<SnapshotParts, 'withoutMemory'> {
  readonly source: AgentClient
}

/**
 * Brings a snapshot from the host that has it to another one, through control. Both have it when this resolves. Can be
 * repeated.
 * @returns the number of bytes that were sent
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function copySnapshotToHost(copy: SnapshotCopy): Promise<number> {
  const { source, destination, subject, withoutMemory = false } = copy
  const { bake } = await snapshotContent(source, subject)
  const have = (await bakesOf(destination, subject.requestId)).filter((hash) => hash === bake.hash)
  const send = (known: readonly string[]) =>
    importSnapshot(async (signal) => {
      const exported = await exportSnapshot(source, subject, { have: known, withoutMemory }, signal)
      return exported as AsyncIterable<Buffer>
    }, copy)
  return send(have).catch((error: unknown) => {
    if (have.length === 0 || !lacksBake(error)) throw error
    return send([])
  })
}
