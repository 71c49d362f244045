import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
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
}

/** A cluster of its own in a temporary folder, without fsync. `stop` ends it and removes the folder. */
export async function startPostgres(): Promise<TestPostgres> {
  const template = await postgresTemplate()
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-pg-'))
  await chmod(folder, 0o755)
  const data = join(folder, 'data')
  await promisify(execFile)('cp', ['--archive', '--reflink=auto', template.data, data])
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
  const server = spawn(join(template.binaries, 'bin/postgres'), ['-D', data, ...args], options)
  const address = { host: '127.0.0.1', port, user: 'postgres', password: PASSWORD }
  await untilAnswering(server, address)
  return { ...address, stop: (signal = 'SIGTERM') => stop(server, folder, signal) }
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

async function stop(server: ChildProcess, folder: string, signal: NodeJS.Signals): Promise<void> {
  const gone = new Promise((resolve) => server.once('exit', resolve))
  if (server.exitCode === null) {
    server.kill(signal)
    const impatience = setTimeout(() => server.kill('SIGINT'), STOP_PATIENCE_MS)
    await gone
    clearTimeout(impatience)
  }
  await rm(folder, { recursive: true, force: true })
}
