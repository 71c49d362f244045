/**
 * Lays out the release that the npm package holds: the runtime part of the repository, as `release.tar.gz`.
 *
 *     HOME/releases/ID/     a complete release; never changed, except that `bin/up` installs its packages
 *     HOME/releases/.new-…  a release that is being unpacked
 *     HOME/releases/.old-…  a release that is being removed
 *
 * ID contains the hash of the archive. Two processes may lay out the same release at the same time: each unpacks its own
 * copy, and the first one to rename it wins. Whoever loses removes its copy.
 */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { z } from 'zod'
import { canAccess } from '../base/can-access.ts'
import { RELEASE_RECORD } from '../base/product.ts'
import { runCommand } from '../base/run-command.ts'
import { SetupFailure } from '../base/setup-failure.ts'

const UNPACK_WITHIN_MS = 120_000
/** Releases of earlier versions that stay besides the current one, so that a user can go back. */
const KEPT_EARLIER = 1
/** An unfinished copy of this age, in milliseconds, belongs to no running process. */
const STALE_MS = 3_600_000

/** `release.json` beside the archive, written by `bin/lib/pack.mjs`. */
export const packedRelease = z.object({
  /** VERSION-HASH */
  id: z.string().regex(/^[\w.+-]+$/),
  version: z.string(),
  commit: z.string(),
})
export type PackedRelease = z.infer<typeof packedRelease>

/** @param folder of the npm package's files */
export async function readPackedRelease(folder: string): Promise<PackedRelease> {
  return packedRelease.parse(JSON.parse(await readFile(join(folder, RELEASE_RECORD), 'utf8')))
}

/** The folder of a release that is laid out; `null` if it is not. */
export async function findRelease(home: string, { id }: PackedRelease): Promise<string | null> {
  const place = join(home, 'releases', id)
  return (await canAccess(place)) ? place : null
}

/**
 * Lays out the release unless it is there, and marks it as used now.
 * @param archive path of `release.tar.gz`
 * @returns the release's folder
 * @throws {SetupFailure}
 */
export async function layOutRelease(home: string, release: PackedRelease, archive: string): Promise<string> {
  const place = join(home, 'releases', release.id)
  try {
    if (!(await canAccess(place))) {
      await unpack(join(home, 'releases'), place, archive)
      await removeOthers(join(home, 'releases'), release.id)
    }
    const now = new Date()
    await utimes(place, now, now)
    return place
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new SetupFailure(`Offshoot cannot unpack itself at ${path ?? home} (${code}).`, { cause: error })
  }
}

async function unpack(releases: string, place: string, archive: string): Promise<void> {
  await mkdir(releases, { recursive: true })
  const work = await mkdtemp(join(releases, '.new-'))
  try {
    const unpacked = join(work, 'release')
    await mkdir(unpacked, { mode: 0o755 })
    const deadline = Deadline.after(UNPACK_WITHIN_MS, 'unpacking the release')
    await runCommand('tar', ['--extract', '--gzip', '--no-same-owner', '--file', archive, '--directory', unpacked], {
      deadline,
    })
    await rename(unpacked, place).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error // another process was first
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Removes earlier releases that no process uses, except the one that was used last, and what killed processes left. */
async function removeOthers(releases: string, current: string): Promise<void> {
  const inUse = await commandLines()
  const found = await Promise.all(
    (await readdir(releases)).map(async (name) => {
      const usedAtMs = await stat(join(releases, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      )
      return { name, usedAtMs }
    }),
  )
  const earlier = found
    .filter(({ name }) => name !== current && !isLeftOver(name))
    .toSorted((a, b) => b.usedAtMs - a.usedAtMs)
    .slice(KEPT_EARLIER)
    .filter(({ name }) => !inUse.includes(`${join(releases, name)}/`))
  for (const { name } of earlier) {
    // Renamed first: a release is there as a whole or not at all.
    await rename(join(releases, name), join(releases, `.old-${name}`)).catch(() => undefined)
    await rm(join(releases, `.old-${name}`), { recursive: true, force: true })
  }
  for (const { name, usedAtMs } of found)
    if (isLeftOver(name) && Date.now() - usedAtMs > STALE_MS)
      await rm(join(releases, name), { recursive: true, force: true })
}

/** What killed processes left. */
function isLeftOver(name: string): boolean {
  return name.startsWith('.')
}

/** Of all processes, which name the release's files that they run. */
async function commandLines(): Promise<string> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return lines.join('\n')
}
