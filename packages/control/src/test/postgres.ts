import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { appendFile, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findFreePort } from '@offshoot/kit/free-port'
import { Client, type ClientConfig } from 'pg'
import { PASSWORD, POSTGRES_PROCESS, postgresTemplate } from './postgres-template.ts'

const START_DEADLINE_MS = 60_000
const STOP_PATIENCE_MS = 10_000

export interface TestPostgres {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** @param signal SIGTERM waits until connections have closed; SIGINT breaks them */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<void>
  /** @param signal SIGINT breaks all connections; SIGQUIT does so without a checkpoint, as a crash does */
  restart(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** A copy of this server, which must have no connections. From then on each commit waits for the copy. */
  replica(): Promise<TestPostgres>
}

/** A cluster of its own in a temporary folder, without fsync. `stop` ends it and removes the folder. */
export async function startPostgres(): Promise<TestPostgres> {
  const template = await postgresTemplate()
  return serve(await copyOf(template.data), template.binaries)
}

/** @returns the folder that contains the copy */
async function copyOf(data: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-pg-'))
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
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    await end(server, signal)
    await rm(folder, { recursive: true, force: true })
  }
  return { ...address, stop, restart, replica }
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
