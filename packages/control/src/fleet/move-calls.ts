import { Readable } from 'node:stream'
import {
  agentBakes,
  type AgentLeave,
  agentLeave,
  BAKE_MISSING,
  ONLY_HEADER,
  type SettleOutcome,
} from '@offshoot/contract/agent-move'
import { MAX_REFUSAL_BYTES, readBeginning } from '../platform/http/bounded-body.ts'
import type { AgentClient } from './agent-client.ts'
import { AgentRefused, AgentUnreachable } from './agent-failure.ts'
import { MEMORY_TIMEOUT_MS, RECORD_TIMEOUT_MS, type Subject } from './sandbox-calls.ts'

/** Milliseconds until the source begins to send, for which it may have to read the whole sandbox. */
const EXPORT_ANSWER_MS = 300_000
/** Milliseconds without a byte from the source after which a copy has failed. */
const SILENCE_MS = 60_000

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

/** The source broke off, or refused. The destination keeps nothing of an incomplete copy. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed'
}

/** The host's own words. */
export function reasonOf({ body }: AgentRefused): string {
  return body.detail ?? body.error
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
  const from = { method: 'GET', path: `/v1/sandboxes/${id}/export?${query.toString()}` } as const
  const call = { workspaceId, requestId, headers: {}, silenceMs: SILENCE_MS, signal }
  const exported = await source
    .forward({ ...from, ...call, timeoutMs: EXPORT_ANSWER_MS })
    .catch((error: unknown) => Promise.reject(new SourceFailed('the source gave no answer', { cause: error })))
  // Whoever reads the stream gets its errors. Its end before that is no failure.
  exported.body.on('error', () => undefined)
  if (exported.statusCode === 200 && exported.headers[ONLY_HEADER] === only) return exported.body
  if (exported.statusCode === 200) {
    exported.body.destroy()
    throw new SourceFailed('the version of the agent is too old for copies')
  }
  const text = (await readBeginning(exported.body, MAX_REFUSAL_BYTES)).toString()
  throw new SourceFailed('the source refused', { cause: new AgentRefused(from, exported.statusCode, text) })
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
  let broken: unknown
  const bytes = async function* () {
    try {
      for await (const chunk of source) {
        onBytes(chunk.length)
        yield chunk
      }
    } catch (error) {
      broken = error
      throw error
    }
  }
  const to = { method: 'PUT', path: `/v1/sandboxes/${id}/import?move_id=${moveId}` } as const
  const call = { workspaceId, requestId, silenceMs: SILENCE_MS, signal }
  const headers = { 'content-type': 'application/octet-stream' }
  const body = Readable.from(bytes(), { objectMode: false })
  try {
    // A large sandbox takes as long as it takes: whoever waits looks whether bytes still come.
    const answer = await destination.forward({ ...to, ...call, headers, body, timeoutMs: 0 })
    const text = (await readBeginning(answer.body, MAX_REFUSAL_BYTES)).toString()
    if (answer.statusCode >= 300) throw new AgentRefused(to, answer.statusCode, text)
  } catch (error) {
    if (broken !== undefined && error instanceof AgentUnreachable) {
      throw new SourceFailed('the source broke off', { cause: broken })
    }
    throw error
  } finally {
    body.destroy()
  }
}

/** Whether the destination needs the bake after all. */
export function lacksBake(error: unknown): boolean {
  return error instanceof AgentRefused && error.status === 409 && error.body.detail === BAKE_MISSING
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
