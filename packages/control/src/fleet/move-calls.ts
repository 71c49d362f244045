import type { Readable } from 'node:stream'
import { agentBakes, type AgentLeave, agentLeave, type SettleOutcome } from '@offshoot/contract/agent-move'
import type { AgentClient } from './agent-client.ts'
import { MEMORY_TIMEOUT_MS, RECORD_TIMEOUT_MS, type Subject } from './sandbox-calls.ts'
import { openExport, sendImport } from './stream-calls.ts'

/** Hibernated it must be. From then on the source refuses to wake it. */
export async function leave(client: AgentClient, subject: Subject, moveId: string): Promise<AgentLeave> {
  return agentLeave.parse(await post(client, subject, 'leave', { move_id: moveId }, MEMORY_TIMEOUT_MS))
}

/** Ends the move on one host, for good. Idempotent. */
export async function settle(
  client: AgentClient,
  subject: Subject,
  moveId: string,
  outcome: SettleOutcome,
): Promise<void> {
  await post(client, subject, 'settle', { move_id: moveId, outcome }, MEMORY_TIMEOUT_MS)
}

/** The bakes that the host has, so that a copy for it may lack them. */
export async function bakesOf(client: AgentClient, requestId: string): Promise<readonly string[]> {
  const answer = await client.ask({ method: 'GET', path: '/v1/bakes', requestId, timeoutMs: RECORD_TIMEOUT_MS })
  return agentBakes.parse(answer).hashes
}

function post(client: AgentClient, { id, workspaceId, requestId }: Subject, action: string, body: object, ms: number) {
  const path = `/v1/sandboxes/${id}/${action}`
  return client.ask({ method: 'POST', path, workspaceId, requestId, body: JSON.stringify(body), timeoutMs: ms })
}

interface Exported {
  readonly moveId: string
  /** Bakes that the stream may lack. */
  readonly have: readonly string[]
  /** Nothing but the bake. */
  readonly only?: 'bake'
}

/** The stream of a sandbox that leaves. The caller must read or destroy it. @throws SourceFailed */
export async function exportStream(
  source: AgentClient,
  { id, workspaceId, requestId }: Subject,
  { moveId, have, only }: Exported,
  signal: AbortSignal,
): Promise<Readable> {
  const query = new URLSearchParams({ move_id: moveId, ...(only && { only }) })
  for (const hash of have) query.append('have', hash)
  const path = `/v1/sandboxes/${id}/export?${query.toString()}`
  return openExport({ client: source, path, workspaceId, requestId, signal }, only)
}

export interface Import {
  readonly destination: AgentClient
  readonly subject: Subject
  readonly moveId: string
  readonly signal: AbortSignal
  /** Called with the number of each chunk's bytes. */
  readonly onBytes: (count: number) => void
}

/**
 * Sends a stream to the destination. Resolves when everything is on its disk.
 * @param source is read to its end, or destroyed
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function importStream(source: AsyncIterable<Buffer>, asked: Import): Promise<void> {
  const { destination, subject, moveId, signal, onBytes } = asked
  const { id, workspaceId, requestId } = subject
  const path = `/v1/sandboxes/${id}/import?move_id=${moveId}`
  await sendImport(source, { client: destination, path, workspaceId, requestId, signal }, onBytes)
}

export interface Copy extends Import {
  readonly source: AgentClient
  /** Bakes that the stream may lack. */
  readonly have: readonly string[]
}

/**
 * Pipes the answer of the source into a request to the destination, because hosts do not call each other. Resolves when
 * everything is on the destination's disk.
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function copySandbox(copy: Copy): Promise<void> {
  const { source, subject, moveId, have, signal } = copy
  const exported = await exportStream(source, subject, { moveId, have }, signal)
  try {
    await importStream(exported as AsyncIterable<Buffer>, copy)
  } finally {
    exported.destroy()
  }
}
