import { Readable } from 'node:stream'
import {
  agentTemplateContent,
  type AgentTemplateContent,
  NO_SNAPSHOT,
  NO_TEMPLATE,
} from '@offshoot/contract/agent-move'
import type { AgentClient } from './agent-client.ts'
import type { KnownAgent } from './agent-directory.ts'
import type { Artifact } from './artifact.ts'
import { AgentRefused } from './agent-failure.ts'
import { bakesOf } from './move-calls.ts'
import { lacksBake, openExport, sendImport, SourceFailed } from './stream-calls.ts'
import { whileHeard } from './while-heard.ts'

/** Milliseconds to read a bake that was not read before. */
const CONTENT_MS = 300_000
/**
 * Milliseconds without progress after which a copy is given up. After the last byte, the destination verifies everything,
 * and boots a template.
 */
const STALLED_MS = 600_000
/** Milliseconds to remove one. */
const REMOVE_MS = 60_000

/** The artifact of a call, and the request that asks. */
export type ArtifactSubject = Pick<Artifact, 'id' | 'kind' | 'workspace_id'> & { readonly requestId: string }

/** Whether a refusal says that the agent's version knows no such routes. */
export function isTooOld(error: unknown): boolean {
  if (!(error instanceof AgentRefused) || error.status !== 404) return false
  return error.body.detail !== NO_SNAPSHOT && error.body.detail !== NO_TEMPLATE
}

/** What an export of the artifact has. @throws SourceFailed */
export async function artifactContent(
  source: AgentClient,
  subject: ArtifactSubject,
  signal: AbortSignal,
): Promise<AgentTemplateContent> {
  const call = { method: 'GET', ...callOf(subject, '/content'), timeoutMs: CONTENT_MS, signal } as const
  try {
    return agentTemplateContent.parse(await source.ask(call))
  } catch (error) {
    throw failureOf(subject, error)
  }
}

function callOf({ id, kind, workspace_id: workspaceId, requestId }: ArtifactSubject, rest = '') {
  return { path: `/v1/${kind}s/${id}${rest}`, workspaceId, requestId }
}

function failureOf({ kind }: ArtifactSubject, error: unknown): SourceFailed {
  const text = isTooOld(error) ? `the version of the agent is too old to give ${kind}s away` : 'the source refused'
  return new SourceFailed(text, { cause: error })
}

/** What a stream of an artifact may lack. */
export interface ArtifactParts {
  /** Bakes that the stream may lack. */
  readonly have: readonly string[]
  /** Nothing but the bake. */
  readonly only?: 'bake'
  /** Only for snapshots of databases: without it, the snapshot can be used without its memory only. */
  readonly withoutMemory?: boolean
}

/** The stream of an artifact. The caller must read or destroy it. @throws SourceFailed */
export async function exportArtifact(
  source: AgentClient,
  subject: ArtifactSubject,
  { have, only, withoutMemory }: ArtifactParts,
  signal: AbortSignal,
): Promise<Readable> {
  const query = new URLSearchParams({ ...(only && { only }), ...(withoutMemory === true && { memory: 'none' }) })
  for (const hash of have) query.append('have', hash)
  return openExport({ client: source, ...callOf(subject, `/export?${query.toString()}`), signal }, only)
}

export interface ArtifactImport {
  readonly destination: AgentClient
  readonly subject: ArtifactSubject
  readonly signal: AbortSignal
}

/**
 * Sends the stream of an artifact to the destination, which has it when this resolves. A host that has it already keeps
 * what it has.
 * @param open opens the stream
 * @returns the number of bytes
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function importArtifact(
  open: (signal: AbortSignal) => AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer>>,
  { destination, subject, signal }: ArtifactImport,
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
    await sendImport(source, { client: destination, ...callOf(subject, '/import'), signal: both }, onBytes)
    return bytes
  } finally {
    clearTimeout(timer)
    if (source instanceof Readable) source.destroy()
  }
}

export interface ArtifactCopy extends ArtifactImport, Pick<ArtifactParts, 'withoutMemory'> {
  readonly source: Pick<KnownAgent, 'client' | 'isLost'>
}

/**
 * Brings an artifact from the host that has it to another one, through control. Both have it when this resolves. Can be
 * repeated.
 * @returns the number of bytes that were sent
 * @throws SourceFailed, also if the source is lost meanwhile; AgentUnreachable and AgentRefused of the destination
 */
export async function copyArtifactToHost(copy: ArtifactCopy): Promise<number> {
  return whileHeard(copy.source, copy.signal, (heard) => copyFrom(copy, heard))
}

/** @param heard aborts the requests to the source */
async function copyFrom(copy: ArtifactCopy, heard: AbortSignal): Promise<number> {
  const { destination, subject, withoutMemory = false } = copy
  const source = copy.source.client
  const { bake } = await artifactContent(source, subject, heard)
  const have = (await bakesOf(destination, subject.requestId)).filter((hash) => hash === bake?.hash)
  const send = (known: readonly string[]) =>
    importArtifact(async (signal) => {
      const both = AbortSignal.any([signal, heard])
      const exported = await exportArtifact(source, subject, { have: known, withoutMemory }, both)
      return exported as AsyncIterable<Buffer>
    }, copy)
  return send(have).catch((error: unknown) => {
    if (have.length === 0 || !lacksBake(error)) throw error
    return send([])
  })
}

/** Idempotent. Ends an import, too. The agent keeps data that other objects depend on until those are gone. */
export async function removeArtifact(client: AgentClient, subject: ArtifactSubject): Promise<void> {
  await client.ask({ method: 'DELETE', ...callOf(subject), timeoutMs: REMOVE_MS })
}
