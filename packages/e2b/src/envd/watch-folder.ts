import { posix } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { readServerSentEvents } from '@offshoot/kit/server-sent-events'
import { z } from 'zod'
import {
  EventType,
  type FilesystemEventSchema,
  type WatchDirResponseSchema,
} from '../generated/filesystem/filesystem_pb.js'
import type { EnvdCall } from './call.ts'
import { presentEntry, statEntry } from './entry-info.ts'
import { SandboxEnded } from './sandbox-ended.ts'

export type WatchResponse = MessageInitShape<typeof WatchDirResponseSchema>
export type FilesystemEvent = MessageInitShape<typeof FilesystemEventSchema>

export interface Watched {
  readonly path: string
  readonly recursive: boolean
  /** Each event carries what is now at its path. */
  readonly includeEntry: boolean
  readonly user: string
}

const change = z.object({ path: z.string().default(''), to: z.string().optional(), error: z.string().optional() })

const TYPES: Readonly<Record<string, EventType>> = {
  created: EventType.CREATE,
  modified: EventType.WRITE,
  deleted: EventType.REMOVE,
}

/** The start, once changes are recorded, and then each change. @throws {SandboxEnded} if the sandbox ends */
export async function* watchFolder(
  call: EnvdCall,
  watched: Watched,
  signal: AbortSignal,
): AsyncGenerator<WatchResponse> {
  const query = { path: watched.path, recursive: watched.recursive }
  const { body } = await call.control.open(call.request('GET', '/fs/watch', { query, signal }))
  try {
    yield { event: { case: 'start', value: {} } }
    for await (const value of changesOf(call, watched, body)) yield { event: { case: 'filesystem', value } }
  } catch (error) {
    throw error instanceof SandboxEnded ? error : new SandboxEnded(undefined, error)
  } finally {
    body.destroy()
  }
  throw new SandboxEnded()
}

async function* changesOf(
  call: EnvdCall,
  watched: Watched,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<FilesystemEvent> {
  for await (const batch of readServerSentEvents(body)) {
    for (const { event, data } of batch) {
      const { path, to, error } = change.parse(JSON.parse(data))
      if (event === 'error') throw new SandboxEnded(error)
      if (event === 'moved') {
        yield await changed(call, watched, path, EventType.RENAME)
        if (to !== undefined) yield await changed(call, watched, to, EventType.CREATE)
      }
      const type = TYPES[event]
      if (type !== undefined) yield await changed(call, watched, path, type)
      if (type !== EventType.CREATE || !call.writes.has(call.sandboxId, path)) continue
      yield await changed(call, watched, path, EventType.CHMOD)
      yield await changed(call, watched, path, EventType.WRITE)
    }
  }
}

/** Names are relative to the watched folder. */
async function changed(
  call: EnvdCall,
  { path: folder, includeEntry, user }: Watched,
  path: string,
  type: EventType,
): Promise<FilesystemEvent> {
  const name = posix.relative(folder, path)
  const isGone = type === EventType.REMOVE || type === EventType.RENAME
  if (!includeEntry || isGone) return { name, type }
  const entry = await statEntry(call, path, user).catch(() => null)
  return entry === null ? { name, type } : { name, type, entry: presentEntry(entry) }
}
