import { hkdfSync } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { ControlConfig } from '@offshoot/contract/process-config'
import type { ObjectPlace } from '@offshoot/kit/objects/object-place'
import { Objects, placeOf } from '@offshoot/kit/objects/objects'
import type { StoredStream } from '../../../fleet/stream-statements.ts'

/** Bytes of an object, before its encryption. */
export const CHUNK_BYTES = 8 * 1024 ** 2
/** Attempts for one object, because a store may fail for a moment. */
const MAX_ATTEMPTS = 3
const RETRY_MS = 200
const KEY_BYTES = 32

/** The object store failed, or does not have what it should have. */
export class StoreFailed extends Error {
  override readonly name = 'StoreFailed'
}

/**
 * Streams of bytes in the object store: `streams/STREAM-ID.NUMBER`, each object with up to {@link CHUNK_BYTES}. The key
 * of a workspace is derived from the service's, and an object's name is authenticated with its content, so no object
 * can be read as that of another stream or workspace. The rows have the number of objects; nothing is ever listed.
 */
export class StoredStreams {
  readonly #place: ObjectPlace
  readonly #key: Buffer

  constructor({ store, key }: NonNullable<ControlConfig['objects']>) {
    this.#place = placeOf(store)
    this.#key = Buffer.from(key, 'base64')
  }

  /** @throws StoreFailed */
  async put({ id, workspace_id }: Omit<StoredStream, 'chunks'>, index: number, chunk: Buffer, signal: AbortSignal) {
    const objects = this.#of(workspace_id)
    await retried(signal, () => objects.put(nameOf(id, index), chunk, signal))
  }

  /** @throws StoreFailed */
  async *read({ id, workspace_id, chunks }: StoredStream, signal: AbortSignal): AsyncGenerator<Buffer> {
    const objects = this.#of(workspace_id)
    for (let index = 0; index < chunks; index++) {
      yield await retried(signal, async () => {
        const read = await objects.get(nameOf(id, index), signal)
        if (read.state === 'present') return read.content
        throw new Error(read.state === 'absent' ? 'an object is missing' : read.reason)
      })
    }
  }

  /** Deletes all objects that may exist. @throws StoreFailed */
  async remove({ id, workspace_id, chunks }: StoredStream, signal: AbortSignal): Promise<void> {
    const objects = this.#of(workspace_id)
    for (let index = 0; index < chunks; index++) {
      await retried(signal, () => objects.remove(nameOf(id, index), signal))
    }
  }

  #of(workspaceId: string): Objects {
    const key = hkdfSync('sha256', this.#key, '', `offshoot stored streams of ${workspaceId}`, KEY_BYTES)
    return new Objects(this.#place, Buffer.from(key))
  }
}

function nameOf(id: string, index: number): string {
  return `streams/${id}.${index}`
}

async function retried<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (attempt === MAX_ATTEMPTS) {
        const reason = error instanceof Error ? error.message : String(error)
        throw new StoreFailed(`the object store: ${reason}`, { cause: error })
      }
    }
    await delay(RETRY_MS, undefined, { signal })
  }
}
