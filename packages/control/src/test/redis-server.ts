import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { findFreePort } from '@offshoot/kit/free-port'
import { createClient } from '@redis/client'
import { eventually } from './harness.ts'

const PROGRAM = '/usr/bin/redis-server'
/** Debian's redis-server. Tests that need it are skipped if it is not installed. */
export const hasRedis = existsSync(PROGRAM)

/** A Redis without persistence. */
export class RedisServer {
  readonly #port: number
  #process: ChildProcess | undefined

  private constructor(port: number) {
    this.#port = port
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await findFreePort())
    await server.startAgain()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`
  }

  /** At the same address, and empty. */
  async startAgain(): Promise<void> {
    const args = ['--port', String(this.#port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    this.#process = spawn(PROGRAM, args, { stdio: 'ignore', cwd: '/' })
    await eventually(async () => this.keys().catch(() => null))
  }

  async keys(): Promise<string[]> {
    const client = createClient({ url: this.url, socket: { reconnectStrategy: false } })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return await client.keys('*')
    } finally {
      client.destroy()
    }
  }

  async stop(): Promise<void> {
    if (this.#process === undefined) return
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    this.#process = undefined
    await ended
  }
}
