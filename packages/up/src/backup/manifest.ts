import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { repositoryRoot } from '../base/repository.ts'
import { SetupFailure } from '../base/setup-failure.ts'
import { readCommit } from '../config/commit.ts'

/** The last file of the archive. */
export const MANIFEST = 'manifest.json'
const FORMAT = 1

const versions = z.object({
  /** Of the archive. A release refuses formats that are newer than its own. */
  format: z.int(),
  version: z.string(),
  commit: z.string(),
  /** The last migration that the release knew, e.g. `0054-lineage`. */
  schema: z.string(),
  /** PostgreSQL's major version, of which the cluster's files depend. */
  postgres: z.string(),
  /** As `process.arch`; the cluster's files depend on it. */
  architecture: z.string(),
})

export const manifest = versions.extend({
  /** RFC 3339 */
  created_at: z.string(),
  files: z.record(z.string(), z.object({ bytes: z.int(), sha256: z.string() })),
})
export type Manifest = z.infer<typeof manifest>

/** @param cluster folder of the PostgreSQL cluster */
export async function currentVersions(cluster: string): Promise<z.infer<typeof versions>> {
  return { ...(await ofRelease()), postgres: (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim() }
}

/**
 * @param major PostgreSQL's major version of this release
 * @throws {SetupFailure} if this release cannot use the backup
 */
export async function refuseOtherVersions(backup: Manifest, major: string): Promise<void> {
  const own = await ofRelease()
  const isNewer = backup.format > own.format || backup.schema > own.schema || isLater(backup.version, own.version)
  if (isNewer) {
    const made = `${backup.version} (commit ${backup.commit})`
    throw new SetupFailure(`A newer release, ${made}, made this backup: restore it with that release or a later one.`)
  }
  if (backup.architecture !== own.architecture)
    throw new SetupFailure(
      `The backup is of a machine with another CPU: ${backup.architecture}, not ${own.architecture}.`,
    )
  if (backup.postgres !== major)
    throw new SetupFailure(`The backup is of PostgreSQL ${backup.postgres}, and this release has ${major}.`)
}

async function ofRelease(): Promise<Omit<z.infer<typeof versions>, 'postgres'>> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(repositoryRoot, 'package.json'), 'utf8')))
  const migrations = await readdir(join(repositoryRoot, 'packages/control/src/platform/db/migrations'))
  const schema =
    migrations
      .filter((name) => /^\d{4}-.*\.ts$/.test(name))
      .toSorted()
      .at(-1) ?? ''
  return {
    format: FORMAT,
    version,
    commit: await readCommit(),
    schema: schema.replace(/\.ts$/, ''),
    architecture: process.arch,
  }
}

function isLater(version: string, other: string): boolean {
  return version.localeCompare(other, 'en', { numeric: true }) > 0
}
