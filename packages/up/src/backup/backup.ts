/**
 * `backup FILE|FOLDER`: everything that is needed after losing the machine of control, in one encrypted file. The
 * service may run meanwhile. The objects of the agent are not part of it.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import { takeLock } from '@offshoot/kit/exclusive-lock'
import { canAccess } from '../base/can-access.ts'
import type { DataLayout } from '../base/data-layout.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { portsOfStopped } from '../services/running-record.ts'
import { encrypt } from './age-file.ts'
import { type Checksums, type Entry, textEntry, writeArchive } from './archive.ts'
import { entriesOfRunningCluster, entriesOfStoppedCluster, portOfCluster } from './cluster-entries.ts'
import { fileEntry, folderEntries } from './folder-entries.ts'
import { currentVersions, MANIFEST } from './manifest.ts'
import { writeNewFile } from './write-new-file.ts'

/** The holder of a lock that was just released may need a moment to end. */
const LOCK_WAIT_S = 2

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
  const port = await portOfCluster(layout)
  const lock = port === null ? await takeLock(layout.lock, LOCK_WAIT_S) : null
  if (port === null && lock === null)
    throw new SetupFailure('Offshoot is starting or stopping: back up again when it runs or has stopped.')
  try {
    const cluster = port === null ? entriesOfStoppedCluster(layout) : entriesOfRunningCluster(layout, port)
    const content = () => encrypt(archive(layout, cluster, at), passphrase)
    const path = await writeNewFile({ target, prefix: 'offshoot', extension: 'tar.zst.age', at }, content, stop)
    return { path, bytes: (await stat(path)).size }
  } finally {
    lock?.release()
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
