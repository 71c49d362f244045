import type { Readable } from 'node:stream'
import type { AgentClient } from '../../../fleet/agent-client.ts'
import type { CopyRow } from '../../../fleet/copy-statements.ts'
import { exportStream } from '../../../fleet/move-calls.ts'
import type { Subject } from '../../../fleet/sandbox-calls.ts'
import { SourceFailed } from '../../../fleet/stream-calls.ts'
import { insertStream, noteBakeStored, noteChunk, storedBake } from '../../../fleet/stream-statements.ts'
import { CHUNK_BYTES, type StoredStreams } from '../model/stored-streams.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'

/** The copy was given up while it was stored, which is no failure. */
export class CopyEnded extends Error {
  override readonly name = 'CopyEnded'
}

/** One run of the job of a copy. */
export interface CopyRun {
  readonly control: SandboxesContext
  readonly copy: CopyRow
  readonly subject: Subject
  /** Aborts when the process stops, or no longer holds the job. */
  readonly signal: AbortSignal
}

export interface Storing extends CopyRun {
  readonly streams: StoredStreams
  readonly source: AgentClient
}

/** The stream of a bake, which all copies of a workspace with that bake share. @throws CopyEnded, StoreFailed, SourceFailed */
export async function storeBake(storing: Storing, bake: string): Promise<string> {
  const { pool } = storing.control.database
  const known = async () => (await storedBake(pool, storing.copy.workspace_id, bake))[0]?.id
  const before = await known()
  if (before !== undefined) return before
  const id = await store(storing, bake)
  const [stored] = await noteBakeStored(pool, id)
  // The end of this copy drops a stream that nobody needs, because another process has stored the same.
  const stream = stored?.id ?? (await known())
  if (stream === undefined) throw new CopyEnded('the copy was given up')
  return stream
}

/** The stream of the sandbox without its bake. @throws CopyEnded, StoreFailed, SourceFailed */
export function storeSandbox(storing: Storing): Promise<string> {
  return store(storing, null)
}

async function store(storing: Storing, bake: string | null): Promise<string> {
  const { control, copy, source, subject, streams, signal } = storing
  const { pool } = control.database
  const [stream] = await insertStream(pool, copy.id, bake)
  if (stream === undefined) throw new CopyEnded('the copy was given up')
  const query = bake === null ? { have: [copy.bake ?? ''] } : { have: [], only: 'bake' as const }
  const body = await exportStream(source, subject, { moveId: copy.id, ...query }, signal)
  let index = 0
  for await (const chunk of chunksOf(body)) {
    // The record precedes its object, so that each object that may exist is deleted one day.
    const [wanted] = await noteChunk(pool, stream.id, index + 1, chunk.length)
    if (wanted === undefined) throw new CopyEnded('the copy was given up')
    await streams.put({ id: stream.id, workspace_id: copy.workspace_id }, index, chunk, signal)
    index += 1
  }
  return stream.id
}

/** Pieces of {@link CHUNK_BYTES}; the last one may be smaller. */
async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const part of received(body)) {
    waiting.push(part)
    bytes += part.length
    while (bytes >= CHUNK_BYTES) {
      const all = Buffer.concat(waiting)
      yield all.subarray(0, CHUNK_BYTES)
      waiting = [all.subarray(CHUNK_BYTES)]
      bytes -= CHUNK_BYTES
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

/** @throws SourceFailed */
async function* received(body: Readable): AsyncGenerator<Buffer> {
  try {
    yield* body as AsyncIterable<Buffer>
  } catch (error) {
    throw new SourceFailed('the source broke off', { cause: error })
  } finally {
    body.destroy()
  }
}
