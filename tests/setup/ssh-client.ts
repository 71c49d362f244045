import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Offshoot } from './offshoot.ts'

const run = promisify(execFile)
/** Milliseconds for one command on a busy machine. */
const COMMAND_MS = 120_000

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** OpenSSH's programs with a key and a configuration of their own, which names the gateway `gw`. */
export class SshClient {
  readonly folder: string
  readonly #children = new Set<ChildProcess>()

  private constructor(folder: string) {
    this.folder = folder
  }

  /** A client with a new key that opens nothing yet. */
  static async make(offshoot: Offshoot, id: string): Promise<SshClient> {
    const client = new SshClient(await mkdtemp(join(tmpdir(), 'offshoot-ssh-')))
    const { credentials } = offshoot
    const { body } = await offshoot.request('GET', '/v1/ssh')
    await writeFile(client.file('known_hosts'), `${(body as { known_hosts: string }).known_hosts}\n`)
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'a laptop', '-f', client.file('id')])
    await writeFile(
      client.file('config'),
      `Host gw *-gw
  HostName ${credentials.ssh_host}
  Port ${credentials.ssh_port}
  User ${id}
Host *
  IdentityFile ${client.file('id')}
  IdentitiesOnly yes
  BatchMode yes
  UserKnownHostsFile ${client.file('known_hosts')} ${client.file('known_sandboxes')}
  LogLevel ERROR
`,
    )
    return client
  }

  file(name: string): string {
    return join(this.folder, name)
  }

  ssh(args: readonly string[], input?: string | Buffer): Promise<Ran> {
    return this.run('ssh', args, input)
  }

  /** Runs one of OpenSSH's programs, or rsync. */
  run(program: string, args: readonly string[], input?: string | Buffer): Promise<Ran> {
    const own = program === 'rsync' ? ['-e', `ssh -F ${this.file('config')}`] : ['-F', this.file('config')]
    return this.runPlain(program, [...own, ...args], input)
  }

  /** Runs any program, without the configuration. */
  async runPlain(program: string, args: readonly string[], input?: string | Buffer): Promise<Ran> {
    const child = this.start(program, args)
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
    const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_MS)
    if (child.stdout === null || child.stderr === null) throw new Error('no pipes')
    const closed = once(child, 'close')
    const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr)])
    await closed
    clearTimeout(timer)
    return { code: child.exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
  }

  /** Starts `ssh` with further arguments, which runs until the client is removed or it ends. */
  follow(...args: readonly string[]): ChildProcess {
    return this.start('ssh', ['-F', this.file('config'), ...args])
  }

  start(program: string, args: readonly string[]): ChildProcess {
    const child = spawn(program, args, { stdio: 'pipe', env: { ...process.env, LC_OFFSHOOT: 'a value' } })
    this.#children.add(child)
    child.once('close', () => this.#children.delete(child))
    return child
  }

  async remove(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await rm(this.folder, { recursive: true })
  }
}

/** A port that nothing listens on just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
