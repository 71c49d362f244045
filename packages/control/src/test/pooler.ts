import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@offshoot/kit/free-port'
import { Client } from 'pg'
import { eventually } from './harness.ts'
import { POSTGRES_PROCESS } from './postgres-template.ts'
import type { TestPostgres } from './postgres.ts'

const PROGRAM = '/usr/sbin/pgbouncer'
/** Debian's pgbouncer. Tests that need it are skipped if it is not installed. */
export const hasPooler = existsSync(PROGRAM)

/** A PgBouncer that gives out connections per transaction. */
export class Pooler {
  readonly address: { readonly host: string; readonly port: number }
  readonly #folder: string
  readonly #user: string
  #process: ChildProcess | undefined

  private constructor(folder: string, port: number, user: string) {
    this.#folder = folder
    this.address = { host: '127.0.0.1', port }
    this.#user = user
  }

  /** @param connections how many it opens to the server */
  static async before({ host, port, user, password }: TestPostgres, connections: number): Promise<Pooler> {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-pooler-'))
    await chmod(folder, 0o755)
    const pooler = new Pooler(folder, await findFreePort(), user)
    const lines = [
      '[databases]',
      `postgres = host=${host} port=${port} user=${user} password=${password} dbname=postgres`,
      '[pgbouncer]',
      `listen_addr = ${pooler.address.host}`,
      `listen_port = ${pooler.address.port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'pool_mode = transaction',
      `default_pool_size = ${connections}`,
      `admin_users = ${user}`,
    ]
    await writeFile(join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`)
    await pooler.startAgain()
    return pooler
  }

  async startAgain(): Promise<void> {
    const options = { ...POSTGRES_PROCESS, cwd: this.#folder, stdio: 'ignore' } as const
    this.#process = spawn(PROGRAM, ['--quiet', join(this.#folder, 'pgbouncer.ini')], options)
    await eventually(async () => this.#ask('select 1').catch(() => null))
  }

  async kill(): Promise<void> {
    if (this.#process === undefined) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    this.#process = undefined
    await ended
  }

  async stop(): Promise<void> {
    await this.kill()
    await rm(this.#folder, { recursive: true })
  }

  async #ask(text: string): Promise<unknown[]> {
    const client = new Client({ ...this.address, user: this.#user, database: 'postgres' })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
}
