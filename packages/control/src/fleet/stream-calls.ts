import { Readable } from 'node:stream'
import { BAKE_MISSING, ONLY_HEADER } from '@offshoot/contract/agent-move'
import { MAX_REFUSAL_BYTES, readBeginning } from '../platform/http/bounded-body.ts'
import type { AgentClient } from './agent-client.ts'
import { AgentRefused, AgentUnreachable } from './agent-failure.ts'

/** Milliseconds until the source begins to send, for which it may have to read everything. */
const EXPORT_ANSWER_MS = 300_000
/** Milliseconds without a byte from the source after which a copy has failed. */
const SILENCE_MS = 60_000

/** The source broke off, or refused. The destination keeps nothing of an incomplete copy. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed'
}

/** The host's own words. */
export function reasonOf({ body }: AgentRefused): string {
  return body.detail ?? body.error
}

/** Whether the destination needs the bake after all. */
export function lacksBake(error: unknown): boolean {
  return error instanceof AgentRefused && error.status === 409 && error.body.detail === BAKE_MISSING
}

/** One end of a copy. */
export interface StreamCall {
  readonly client: AgentClient
  readonly path: string
  readonly workspaceId: string
  readonly requestId: string
  readonly signal: AbortSignal
}

/**
 * The answer of an agent to an export. The caller must read or destroy it.
 * @param only what the query asks for: earlier agents send everything
 * @throws SourceFailed
 */
export async function openExport(
  { client, path, workspaceId, requestId, signal }: StreamCall,
  only: 'bake' | undefined,
): Promise<Readable> {
  const from = { method: 'GET', path } as const
  const call = { workspaceId, requestId, headers: {}, silenceMs: SILENCE_MS, signal }
  const exported = await client
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

/**
 * Sends a stream to an agent's import. Resolves when everything is on its disk.
 * @param source is read to its end, or destroyed
 * @param onBytes called with the number of each chunk's bytes
 * @throws SourceFailed, or AgentUnreachable and AgentRefused of the destination
 */
export async function sendImport(
  source: AsyncIterable<Buffer>,
  { client, path, workspaceId, requestId, signal }: StreamCall,
  onBytes: (count: number) => void,
): Promise<void> {
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
  const to = { method: 'PUT', path } as const
  const call = { workspaceId, requestId, silenceMs: SILENCE_MS, signal }
  const headers = { 'content-type': 'application/octet-stream' }
  const body = Readable.from(bytes(), { objectMode: false })
  try {
    // What is large takes as long as it takes: whoever waits looks whether bytes still come.
    const answer = await client.forward({ ...to, ...call, headers, body, timeoutMs: 0 })
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
