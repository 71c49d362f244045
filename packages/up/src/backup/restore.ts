/**
 * `restore FILE`: makes a data directory from a backup. Until the whole file has been read and compared with its
 * manifest, it lies in `DIR/.restore-new`, and nothing else has changed. Then its parts are moved into their places. A
 * restore that was killed while it moved them is begun anew by the next one, and `bin/up` refuses to start until then.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Deadline } from '@offshoot/kit/deadline'
import { takeLock } from '@offshoot/kit/exclusive-lock'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { canAccess } from '../base/can-access.ts'
import { type DataLayout, doesDataDirExist, makeDataDir } from '../base/data-layout.ts'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { chownTree, POSTGRES_UID } from '../services/postgres-cluster.ts'
import { decrypt } from './age-file.ts'
import { MANIFEST, type Manifest, manifest, refuseOtherVersions } from './manifest.ts'

/** PostgreSQL's major version of this release. */
const POSTGRES_MAJOR = '16'
/** The holder of a lock that was just released may need a moment to end. */
const LOCK_WAIT_S = 2
const SYNC_WITHIN_MS = 600_000
/** What a data directory may contain besides: objects of the agent, images, and what every start makes anew. */
const NOT_IN_BACKUPS = new Set(['agent', 'images', 'logs', 'config', 'up.lock', 'lost+found'])
/** In `.restore-new`: all other files are complete, and their move has begun. */
const MOVING = 'moving'

/** @throws {SetupFailure} if the backup cannot be restored here; nothing has changed then */
export async function restore(
  layout: DataLayout,
  file: string,
  passphrase: string,
  stop: AbortSignal,
): Promise<Manifest> {
  await refuseUnreadable(file)
  const isNew = !(await doesDataDirExist(layout))
  if (!isNew) await refuseUsed(layout)
  const made = isNew ? await mkdir(layout.dir, { recursive: true, mode: 0o711 }) : undefined
  const lock = await takeLock(layout.lock, LOCK_WAIT_S)
  if (lock === null) throw new SetupFailure(`Offshoot is running in ${layout.dir}.`)
  try {
    await refuseUsed(layout)
    const restored = await unpackAndMove(layout, file, passphrase, stop)
    await makeDataDir(layout)
    return restored
  } catch (error) {
    if (made !== undefined && !(await canAccess(join(layout.restoring, MOVING)))) await rm(made, { recursive: true })
    throw error
  } finally {
    lock.release()
  }
}

/** @throws {SetupFailure} if a restore was killed while it moved files into their places */
export async function refuseUnfinishedRestore(layout: DataLayout): Promise<void> {
  if (await isMoving(layout))
    throw new SetupFailure(`A restore into ${layout.dir} did not finish: restore the backup again.`)
}

function isMoving(layout: DataLayout): Promise<boolean> {
  return canAccess(join(layout.restoring, MOVING))
}

async function refuseUnreadable(file: string): Promise<void> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new SetupFailure(`The backup ${file} cannot be read (${error.code}).`)
  })
  if (!found.isFile()) throw new SetupFailure(`${file} is not a file.`)
}

/** Entries of an unfinished restore came from a backup, because the directory was empty before it. */
async function refuseUsed(layout: DataLayout): Promise<void> {
  if (await isMoving(layout)) return
  const used = await entriesInUse(layout)
  if (used.length === 0) return
  throw new SetupFailure(`${layout.dir} is not empty (${used.join(', ')}): restore into another data directory.`)
}

/** Empty folders are not in use: a start that was refused may have left them. */
async function entriesInUse({ dir, restoring }: DataLayout): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => !NOT_IN_BACKUPS.has(name) && join(dir, name) !== restoring)
  const inUse = await Promise.all(
    names.map((name) =>
      readdir(join(dir, name)).then(
        (found) => found.length > 0,
        () => true,
      ),
    ),
  )
  return names.filter((_name, at) => inUse[at])
}

async function unpackAndMove(
  layout: DataLayout,
  file: string,
  passphrase: string,
  stop: AbortSignal,
): Promise<Manifest> {
  if (await isMoving(layout))
    for (const name of await entriesInUse(layout)) await rm(join(layout.dir, name), { recursive: true })
  const work = layout.restoring
  await rm(work, { recursive: true, force: true })
  await mkdir(work, { mode: 0o700 })
  try {
    await unpack(file, passphrase, work, stop)
    const backup = await verify(work)
    await refuseOtherVersions(backup, POSTGRES_MAJOR)
    await beginNewTimeline(join(work, 'postgres'))
    if (process.getuid?.() === 0) await chownTree(join(work, 'postgres'), POSTGRES_UID)
    await chmod(join(work, 'postgres'), 0o700)
    await runCommand('sync', ['--file-system', work], { deadline: Deadline.after(SYNC_WITHIN_MS, 'sync', stop) })
    stop.throwIfAborted()
    await move(layout, work)
    return backup
  } catch (error) {
    if (!(await isMoving(layout))) await rm(work, { recursive: true, force: true })
    throw error
  }
}

async function unpack(file: string, passphrase: string, folder: string, stop: AbortSignal): Promise<void> {
  const content = decrypt(createReadStream(file), passphrase)
  // Nothing is started before the passphrase has opened the file.
  const { value: first } = await content.next()
  const tar = spawn('tar', ['--extract', '--no-same-owner', '--preserve-permissions', '--directory', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const ended = once(tar, 'exit') as Promise<[number | null]>
  async function* all(): AsyncGenerator<Buffer> {
    if (first !== undefined) yield first
    yield* content
  }
  try {
    await pipeline(Readable.from(all()), createZstdDecompress(), tar.stdin, { signal: stop })
  } catch (error) {
    tar.kill('SIGKILL')
    await ended
    stop.throwIfAborted()
    if (error instanceof SetupFailure) throw error
    throw new SetupFailure('The backup cannot be unpacked: it is damaged, or the disk is full.', { cause: error })
  }
  const [code] = await ended
  if (code !== 0) throw new SetupFailure('The backup cannot be unpacked: it is damaged, or the disk is full.')
}

/** Compares every file with the manifest. */
async function verify(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => '')
  const parsed = manifest.safeParse(parseJson(text))
  if (!parsed.success) throw new SetupFailure('The backup has no manifest that this release understands.')
  for (const [path, { bytes, sha256 }] of Object.entries(parsed.data.files)) {
    const found = await stat(join(folder, path)).catch(() => null)
    if (found?.size !== bytes || (await hashOf(join(folder, path))) !== sha256)
      throw new SetupFailure(`The backup is damaged: ${path} is not what its manifest says.`)
  }
  return parsed.data
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/**
 * PostgreSQL recovers the cluster as from an archive of its log, and then writes a new timeline. By that, control knows
 * that the database was restored (docs/adr/0053-stored-copies.md). There is no archive: `false` has none of its files.
 */
async function beginNewTimeline(cluster: string): Promise<void> {
  const settings = "restore_command = 'false'\nhot_standby = off\n"
  await appendFile(join(cluster, 'postgresql.auto.conf'), settings, { mode: 0o600 })
  await writeFile(join(cluster, 'recovery.signal'), '', { mode: 0o600 })
}

async function move(layout: DataLayout, work: string): Promise<void> {
  await rm(join(work, MANIFEST))
  const names = await readdir(work)
  await writeFile(join(work, MOVING), '')
  for (const name of names) {
    const place = join(layout.dir, name)
    await rmdir(place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    await rename(join(work, name), place)
  }
  await syncFolder(layout.dir)
  await rm(work, { recursive: true })
}
