/**
 * Creates the PostgreSQL cluster once, with its role and database, in a temporary folder (`DIR/.postgres-new`), and
 * renames it when complete. The service's role owns its database and is no superuser. Only a person uses the
 * superuser's password, in emergencies.
 */
import { chown, lchown, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { canAccess } from '../base/can-access.ts'
import type { DataLayout } from '../base/data-layout.ts'
import { runCommand } from '../base/run-command.ts'
import { secret } from '../base/secret.ts'
import { asUnprivileged } from './unprivileged.ts'

const MAKE_WITHIN_MS = 120_000
/** initdb needs a user with a name; `nobody` exists on every Linux. */
const NOBODY_UID = 65_534
/** The server runs as an unprivileged user that no other program uses. It needs no name. */
export const POSTGRES_UID = 64_432

export const DATABASE = { user: 'offshoot', database: 'offshoot' } as const

const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
password_encryption = 'scram-sha-256'
max_connections = 100
shared_buffers = 64MB
log_timezone = 'UTC'
timezone = 'UTC'
`

/** @returns the password of the service's role */
export async function ensureCluster(layout: DataLayout, programs: string, cancelled: AbortSignal): Promise<string> {
  const password = (await secret(layout.secrets, 'postgres')).toString('base64url')
  if (!(await canAccess(join(layout.postgres, 'PG_VERSION')))) await makeCluster(layout, programs, password, cancelled)
  return password
}

async function makeCluster(layout: DataLayout, programs: string, password: string, cancelled: AbortSignal) {
  const work = join(layout.dir, '.postgres-new')
  // Retried, because an initdb of a killed run may still write there until it misses its files.
  const clear = () => rm(work, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  await clear()
  try {
    await buildCluster(layout, work, programs, password, cancelled)
  } finally {
    await clear()
  }
}

async function buildCluster(
  layout: DataLayout,
  work: string,
  programs: string,
  password: string,
  cancelled: AbortSignal,
): Promise<void> {
  const deadline = Deadline.after(MAKE_WITHIN_MS, 'making the PostgreSQL cluster', cancelled)
  const isRoot = process.getuid?.() === 0
  const cluster = join(work, 'cluster')
  const passwordFile = join(work, 'password')
  const superuserPassword = (await secret(layout.secrets, 'postgres-superuser')).toString('base64url')
  await mkdir(work, { mode: 0o700 })
  await writeFile(passwordFile, superuserPassword, { mode: 0o600 })
  if (isRoot) for (const path of [work, passwordFile]) await chown(path, NOBODY_UID, NOBODY_UID)

  const prefix = await asUnprivileged(NOBODY_UID, [programs, layout.postgres])
  const run = (program: string, args: readonly string[], input = '') => {
    const [file = '', ...rest] = [...prefix, join(programs, program), ...args]
    return runCommand(file, rest, { deadline, cwd: '/', input })
  }
  const identity = ['-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  const content = ['--encoding=UTF8', '--locale=C', '--data-checksums', '--no-instructions']
  await run('initdb', ['-D', cluster, ...identity, ...content])
  // Single-user mode, because no server runs yet. Each line is a statement.
  const role = `CREATE ROLE ${DATABASE.user} LOGIN PASSWORD '${password}'`
  const database = `CREATE DATABASE ${DATABASE.database} OWNER ${DATABASE.user}`
  await run('postgres', ['--single', '-D', cluster, 'postgres'], `${role}\n${database}\n`)

  await writeFile(join(cluster, 'postgresql.conf'), SETTINGS, { flag: 'a' })
  if (isRoot) await chownTree(cluster, POSTGRES_UID)
  await rename(cluster, layout.postgres)
}

/** Gives a folder and everything below it to a user. */
export async function chownTree(folder: string, uid: number): Promise<void> {
  await chown(folder, uid, uid)
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries) await lchown(join(entry.parentPath, entry.name), uid, uid)
}
