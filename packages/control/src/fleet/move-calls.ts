import { Readable } from 'node:stream'
import {
  agentBakes,
  type AgentLeave,
  agentLeave,
  BAKE_MISSING,
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

export interface Copy {
  readonly source: AgentClient
  readonly destination: AgentClient
  readonly subject: Subject
  readonly moveId: string
  /** Bakes that the destination has. */
  readonly have: readonly string[]
  /** Called with the number of each chunk's bytes. */
  readonly onBytes: (count: number) => void
  readonly signal: AbortSignal
}

/**
 * Pipes the answer of the source into a request to the destination, because hosts do not call each other. Resolves when
 * everything is on the destination's disk.
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function copySandbox(copy: Copy): Promise<void> {
  try {
    await copyOnce(copy)
  } catch (error) {
    const lacksBake = error instanceof AgentRefused && error.status === 409 && error.body.detail === BAKE_MISSING
    if (!lacksBake || copy.have.length === 0) throw error
    await copyOnce({ ...copy, have: [] })
  }
}

async function copyOnce({ source, destination, subject, moveId, have, onBytes, signal }: Copy): Promise<void> {
  const { id, workspaceId, requestId } = subject
  const query = new URLSearchParams({ move_id: moveId })
  for (const hash of have) query.append('have', hash)
  const from = { method: 'GET', path: `/v1/sandboxes/${id}/export?${query.toString()}` } as const
  const call = { workspaceId, requestId, headers: {}, silenceMs: SILENCE_MS, signal }
  const exported = await source
    .forward({ ...from, ...call, timeoutMs: EXPORT_ANSWER_MS })
    .catch((error: unknown) => Promise.reject(new SourceFailed('the source gave no answer', { cause: error })))
  if (exported.statusCode !== 200) {
    const text = (await readBeginning(exported.body, MAX_REFUSAL_BYTES)).toString()
    const cause = new AgentRefused(from, exported.statusCode, text)
    throw new SourceFailed('the source refused', { cause })
  }
  let broken: unknown
  const bytes = async function* () {
    try {
      for await (const chunk of exported.body) {
        onBytes((chunk as Buffer).length)
        yield chunk as Buffer
      }
    } catch (error) {
      broken = error
      throw error
    }
  }
  const to = { method: 'PUT', path: `/v1/sandboxes/${id}/import?move_id=${moveId}` } as const
  const headers = { 'content-type': 'application/octet-stream' }
  try {
    // A large sandbox takes as long as it takes: whoever waits looks whether bytes still come.
    const answer = await destination.forward({
      ...to,
      ...call,
      headers,
      body: Readable.from(bytes(), { objectMode: false }),
      timeoutMs: 0,
    })
    const text = (await readBeginning(answer.body, MAX_REFUSAL_BYTES)).toString()
    if (answer.statusCode >= 300) throw new AgentRefused(to, answer.statusCode, text)
  } catch (error) {
    if (broken !== undefined && error instanceof AgentUnreachable) {
      throw new SourceFailed('the source broke off', { cause: broken })
    }
    throw error
  } finally {
    exported.body.destroy()
  }
}
