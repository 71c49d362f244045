import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { appendFile, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '@offshoot/kit/free-port'
import { Client, type ClientConfig } from 'pg'
import { inject } from 'vitest'
import { openDatabase } from '../platform/db/database.ts'
import { migrate } from '../platform/db/migrate.ts'
import { madeOnce, PASSWORD, POSTGRES_PROCESS, postgresTemplate } from './postgres-template.ts'

const START_DEADLINE_MS = 60_000
const STOP_PATIENCE_MS = 10_000

export interface TestPostgres {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** @param signal SIGTERM waits until connections have closed; SIGINT breaks them */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<void>
  /** Stops the server. @returns its folder, which remains */
  halt(): Promise<string>
  /** @param signal SIGINT breaks all connections; SIGQUIT does so without a checkpoint, as a crash does */
  restart(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** A copy of this server, which must have no connections. From then on each commit waits for the copy. */
  replica(): Promise<TestPostgres>
}

/** A cluster of its own in the run's folder, without fsync. `stop` ends it and removes the folder. */
export async function startPostgres(): Promise<TestPostgres> {
  const template = await postgresTemplate()
  return serve(await copyOf(template.data), template.binaries)
}

/** The same, with the current schema in its database `postgres`. It has no other databases, also no templates. */
export async function startMigratedPostgres(): Promise<TestPostgres> {
  const { binaries, data } = await postgresTemplate()
  const migrated = await madeOnce('migrated', async () => {
    const server = await serve(await copyOf(data), binaries)
    await migrateOnlyDatabase(server)
    return server.halt()
  })
  const server = await serve(await copyOf(join(migrated, 'data')), binaries)
  // Two clusters have different ids.
  await query(server, 'update cluster set id = default')
  return server
}

/** Deleting the other databases makes copies of the cluster smaller. */
async function migrateOnlyDatabase(server: TestPostgres): Promise<void> {
  const { host, port, user, password } = server
  const database = openDatabase({ host, port, user, password, database: 'postgres' }, () => undefined)
  await migrate(database)
  await database.close()
  await query(server, 'update pg_database set datistemplate = false')
  for (const name of ['template0', 'template1']) await query(server, `drop database ${name}`)
}

async function query({ host, port, user, password }: TestPostgres, text: string): Promise<void> {
  const client = new Client({ host, port, user, password, database: 'postgres' })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** @returns the folder that contains the copy */
async function copyOf(data: string): Promise<string> {
  const folder = await mkdtemp(join(inject('postgresFolder'), 'copy-'))
  await chmod(folder, 0o755)
  await promisify(execFile)('cp', ['--archive', '--reflink=auto', data, join(folder, 'data')])
  return folder
}

async function serve(folder: string, binaries: string): Promise<TestPostgres> {
  const data = join(folder, 'data')
  const port = await findFreePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 200,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const options = { ...POSTGRES_PROCESS, cwd: folder, stdio: 'ignore' } as const
  const address = { host: '127.0.0.1', port, user: 'postgres', password: PASSWORD }
  let server: ChildProcess
  const start = async () => {
    server = spawn(join(binaries, 'bin/postgres'), ['-D', data, ...args], options)
    await untilAnswering(server, address)
  }
  const restart = async (signal: NodeJS.Signals) => {
    await end(server, signal)
    await start()
  }
  const replica = async () => {
    await end(server, 'SIGINT')
    const copy = await copyOf(data)
    const source = Object.entries(address).map(([name, value]) => `${name}=${value}`)
    const follow = `primary_conninfo = '${source.join(' ')} application_name=replica'\nwal_retrieve_retry_interval = 100\n`
    await appendFile(join(copy, 'data/postgresql.auto.conf'), follow)
    await writeFile(join(copy, 'data/standby.signal'), '')
    await appendFile(join(data, 'postgresql.auto.conf'), "synchronous_standby_names = 'replica'\n")
    await start()
    return serve(copy, binaries)
  }
  await start()
  const halt = async () => {
    await end(server, 'SIGINT')
    return folder
  }
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await end(server, signal)
    await rm(folder, { recursive: true, force: true })
  }
  return { ...address, stop, halt, restart, replica }
}

async function untilAnswering(server: ChildProcess, address: ClientConfig): Promise<void> {
  const endsAtMs = performance.now() + START_DEADLINE_MS
  for (;;) {
    const client = new Client({ ...address, database: 'postgres' })
    try {
      await client.connect()
      return await client.end()
    } catch (error) {
      if (server.exitCode !== null || performance.now() > endsAtMs) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = new Promise((resolve) => server.once('exit', resolve))
  if (server.exitCode !== null) return
  server.kill(signal)
  const impatience = setTimeout(() => server.kill('SIGINT'), STOP_PATIENCE_MS)
  await gone
  clearTimeout(impatience)
}
