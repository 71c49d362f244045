import type { Readable } from 'node:stream'
import { SourceFailed } from '../../../fleet/stream-calls.ts'
import { insertStream, noteBakeStored, noteChunk, storedBake } from '../../../fleet/stream-statements.ts'
import { CHUNK_BYTES, type StoredStreams } from '../model/stored-streams.ts'
import type { SandboxesContext } from '../model/sandboxes-context.ts'

/** The copy was given up while it was stored, which is no failure. */
export class CopyEnded extends Error {
  override readonly name = 'CopyEnded'
}

/** A copy of a sandbox or of a snapshot, whose row is `copying`. */
export interface Storing {
  readonly control: Pick<SandboxesContext, 'database'>
  readonly copy: { readonly id: string; readonly workspace_id: string }
  readonly streams: StoredStreams
  /** Aborts when the process stops, or no longer holds the job. */
  readonly signal: AbortSignal
  /** Opens the stream of the bake alone, or the stream without the bake. @throws SourceFailed */
  readonly open: (part: 'bake' | 'own') => Promise<Readable>
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

/** The stream without its bake. @throws CopyEnded, StoreFailed, SourceFailed */
export function storeOwn(storing: Storing): Promise<string> {
  return store(storing, null)
}

async function store({ control, copy, open, streams, signal }: Storing, bake: string | null): Promise<string> {
  const { pool } = control.database
  const [stream] = await insertStream(pool, copy.id, bake)
  if (stream === undefined) throw new CopyEnded('the copy was given up')
  const body = await open(bake === null ? 'own' : 'bake')
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
