/**
 * `backup FILE|FOLDER`: everything that is needed after losing the machine of control, in one encrypted file. The
 * service may run meanwhile. The objects of the agent are not part of it.
 */
import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import { takeLock } from '@offshoot/kit/exclusive-lock'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { canAccess } from '../base/can-access.ts'
import type { DataLayout } from '../base/data-layout.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { portsOfStopped } from '../services/running-record.ts'
import { encrypt } from './age-file.ts'
import { type Checksums, type Entry, textEntry, writeArchive } from './archive.ts'
import { entriesOfRunningCluster, entriesOfStoppedCluster, portOfCluster } from './cluster-entries.ts'
import { fileEntry, folderEntries } from './folder-entries.ts'
import { currentVersions, MANIFEST } from './manifest.ts'

const EXTENSION = 'tar.zst.age'

export interface WrittenBackup {
  readonly path: string
  readonly bytes: number
}

/**
 * @param target a file that must not exist, or a folder, which gets a file named after the time
 * @throws {SetupFailure}
 */
export async function backUp(
  layout: DataLayout,
  target: string,
  passphrase: string,
  stop: AbortSignal,
): Promise<WrittenBackup> {
  if (!(await canAccess(join(layout.postgres, 'PG_VERSION'))))
    throw new SetupFailure(`There is no database of Offshoot in ${layout.dir}, so there is nothing to back up.`)
  const at = new Date()
  const path = await fileFor(target, at)
  const port = await portOfCluster(layout)
  const lock = port === null ? await takeLock(layout.lock, 0) : null
  if (port === null && lock === null)
    throw new SetupFailure('Offshoot is starting or stopping: back up again when it runs or has stopped.')
  const partial = join(dirname(path), `.${basename(path)}.${process.pid}.partial`)
  try {
    const cluster = port === null ? entriesOfStoppedCluster(layout) : entriesOfRunningCluster(layout, port)
    await writeTo(partial, encrypt(archive(layout, cluster, at), passphrase), stop)
    await rename(partial, path)
    await syncFolder(dirname(path))
    return { path, bytes: (await stat(path)).size }
  } catch (error) {
    const { code, path: where } = error as NodeJS.ErrnoException
    if (code === undefined || where !== partial) throw error
    throw new SetupFailure(`The backup cannot be written to ${dirname(path)} (${code}).`, { cause: error })
  } finally {
    await rm(partial, { force: true })
    lock?.release()
  }
}

async function fileFor(target: string, at: Date): Promise<string> {
  const found = await stat(target).catch(() => null)
  if (found === null) return target
  if (!found.isDirectory()) throw new SetupFailure(`${target} exists already, and a backup never replaces a file.`)
  return join(target, `offshoot-${at.toISOString().replace(/[-:]|\.\d+/g, '')}.${EXTENSION}`)
}

async function writeTo(path: string, content: AsyncIterable<Uint8Array>, stop: AbortSignal): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const chunk of content) {
      stop.throwIfAborted()
      await file.writeFile(chunk)
    }
    await file.sync()
  } catch (error) {
    // Errors of an open file do not name it.
    throw Object.assign(error as Error, { path: (error as NodeJS.ErrnoException).path ?? path })
  } finally {
    await file.close()
  }
}

async function* archive(layout: DataLayout, cluster: AsyncIterable<Entry>, at: Date): AsyncGenerator<Uint8Array> {
  const compress = createZstdCompress()
  // An error of the source destroys the stream, whose reader then gets it.
  pipeline(writeArchive(...contents(layout, cluster, at)), compress).catch(() => undefined)
  try {
    yield* compress
  } finally {
    compress.destroy()
  }
}

/** The secrets come after the database, which may need keys that were made meanwhile. */
function contents(layout: DataLayout, cluster: AsyncIterable<Entry>, at: Date): [AsyncIterable<Entry>, Checksums] {
  const files: Checksums = {}
  async function* entries(): AsyncGenerator<Entry> {
    const versions = await currentVersions(layout.postgres)
    yield* cluster
    for (const name of ['secrets', 'control', 'edge'] as const) yield* folderEntries(layout[name], name)
    yield* fileEntry(layout.credentials, 'credentials.json')
    yield* fileEntry(layout.settings, 'settings.json')
    const ports = await portsOfStopped(layout.runningRecord)
    if (ports !== null) yield textEntry('up.json', ports)
    // The archive has written all other files by now.
    yield textEntry(MANIFEST, `${JSON.stringify({ ...versions, created_at: at.toISOString(), files })}\n`)
  }
  return [entries(), files]
}
