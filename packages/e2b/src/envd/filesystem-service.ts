import { posix } from 'node:path'
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import { folderListing } from '@offshoot/contract/file'
import { ControlRefused } from '../control/control-failure.ts'
import type { Filesystem } from '../generated/filesystem/filesystem_pb.js'
import { absolutePath, callOf, type EnvdCall, userOf } from './call.ts'
import { presentEntry, statEntry } from './entry-info.ts'
import { withKeepalives } from './keepalive.ts'
import { asRpc, asRpcStream } from './rpc-failure.ts'
import { watchFolder, type WatchResponse } from './watch-folder.ts'
import type { Watchers } from './watchers.ts'

const KEEPALIVE: WatchResponse = { event: { case: 'keepalive', value: {} } }

/** Files as E2B's clients see them: with root's rights. New and written files belong to the client's user. */
export function filesystemService(watchers: Watchers): ServiceImpl<typeof Filesystem> {
  return {
    stat: ({ path }, context) => asRpc(async () => ({ entry: presentEntry(await stat(context, path)) })),

    listDir: ({ path, depth }, context) =>
      asRpc(async () => {
        const { call, user } = callerOf(context)
        const query = { path: absolutePath(path, user), depth: depth || 1, owner: user }
        const { entries } = await call.control.read(folderListing, call.request('GET', '/fs/dir', { query }))
        return { entries: entries.map(presentEntry) }
      }),

    makeDir: ({ path }, context) =>
      asRpc(async () => {
        await makeFolder(context, path)
        return { entry: presentEntry(await stat(context, path)) }
      }),

    move: ({ source, destination }, context) =>
      asRpc(async () => {
        const { call, user } = callerOf(context)
        const [path, to] = [absolutePath(source, user), absolutePath(destination, user)]
        const query = { path, to, overwrite: true, parents: true, owner: user }
        await call.control.send(call.request('POST', '/fs/move', { query }))
        return { entry: presentEntry(await stat(context, destination)) }
      }),

    remove: ({ path }, context) =>
      asRpc(async () => {
        const { call, user } = callerOf(context)
        const query = { path: absolutePath(path, user), recursive: true, owner: user }
        await ignoringMissing(call.control.send(call.request('DELETE', '/fs', { query })))
        return {}
      }),

    async *watchDir({ path, recursive, includeEntry }, context) {
      const { call, user } = callerOf(context)
      const watched = { path: absolutePath(path, user), recursive, includeEntry, user }
      yield* asRpcStream(call, withKeepalives(watchFolder(call, watched, context.signal), context, KEEPALIVE))
    },

    createWatcher: ({ path, recursive, includeEntry }, context) =>
      asRpc(async () => {
        const { call, user } = callerOf(context)
        const watched = { path: absolutePath(path, user), recursive, includeEntry, user }
        return { watcherId: await watchers.open(call, watched) }
      }),

    getWatcherEvents: ({ watcherId }, context) =>
      asRpc(async () => ({ events: await watchers.take(callOf(context).sandboxId, watcherId) })),

    removeWatcher: ({ watcherId }, context) =>
      asRpc(async () => {
        watchers.close(callOf(context).sandboxId, watcherId)
        return {}
      }),
  }
}

function callerOf(context: HandlerContext): { call: EnvdCall; user: string } {
  return { call: callOf(context), user: userOf(context.requestHeader.get('authorization')) }
}

function stat(context: HandlerContext, path: string) {
  const { call, user } = callerOf(context)
  return statEntry(call, absolutePath(path, user), user)
}

/** Makes a folder and those above it. @throws {ConnectError} AlreadyExists */
async function makeFolder(context: HandlerContext, given: string): Promise<void> {
  const { call, user } = callerOf(context)
  const path = posix.normalize(absolutePath(given, user))
  const make = (folder: string, parents: boolean) =>
    call.control.send(call.request('POST', '/fs/mkdir', { query: { path: folder, parents, owner: user } }))
  try {
    await make(posix.dirname(path), true)
    await make(path, false)
  } catch (error) {
    if (!(error instanceof ControlRefused && error.status === 409)) throw error
    const { is_dir: isFolder } = await statEntry(call, path, user)
    throw new ConnectError(
      `${path} exists${isFolder ? '' : ' and is not a directory'}`,
      isFolder ? Code.AlreadyExists : Code.InvalidArgument,
    )
  }
}

async function ignoringMissing(done: Promise<void>): Promise<void> {
  try {
    await done
  } catch (error) {
    if (!(error instanceof ControlRefused && error.status === 404)) throw error
  }
}
