import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { run } from '@offshoot/cli/run'
import type { Offshoot } from './offshoot.ts'

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly stdin?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Interrupts the program when its output so far is enough. */
  readonly until?: (stdout: string) => boolean
}

export const PROGRAM = resolve(import.meta.dirname, '../../packages/cli/bin/offshoot.mjs')

/** The environment with which an operator of that server runs the command. */
export function operatorEnv({ credentials }: Offshoot): { readonly OFFSHOOT_OPERATOR_KEY: string } {
  return { OFFSHOOT_OPERATOR_KEY: credentials.operator_key }
}

/** The command `offshoot` with a configuration of its own and the key of a server. */
export class CommandLine {
  /** A folder for files of the test. It holds the configuration too. */
  readonly folder: string
  readonly env: Readonly<Record<string, string>>

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.folder = folder
    this.env = env
  }

  static async of({ credentials }: Offshoot): Promise<CommandLine> {
    const folder = await mkdtemp(join(tmpdir(), 'offshoot-cli-'))
    return new CommandLine(folder, {
      OFFSHOOT_CONFIG: join(folder, 'config.json'),
      OFFSHOOT_BASE_URL: credentials.base_url,
      OFFSHOOT_API_KEY: credentials.api_key,
    })
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
  }

  /** Runs a command line in this process, which is quick. */
  async run(argv: readonly string[], { stdin = '', env = {}, signal, until }: RunOptions = {}): Promise<Finished> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const outputs = Promise.all([text(stdout), text(stderr)])
    const input = Readable.from([Buffer.from(stdin)]) as unknown as NodeJS.ReadStream
    const surroundings = { env: { ...this.env, ...env }, cwd: this.folder, stdin: input, stdout, stderr }
    const enough = new AbortController()
    let seen = ''
    if (until !== undefined)
      stdout.on('data', (chunk: Buffer) => {
        seen += chunk.toString()
        if (until(seen)) enough.abort(new Error('SIGINT'))
      })
    const code = await run(argv, surroundings, signal ?? enough.signal)
    stdout.end()
    stderr.end()
    const [out, err] = await outputs
    return { code, stdout: out, stderr: err }
  }

  /** Runs a command line, and returns its output without the last line end. Throws if it fails. */
  async ok(argv: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(argv, options)
    if (code !== 0) throw new Error(`offshoot ${argv.join(' ')} ended with ${code}: ${stderr}`)
    return stdout.replace(/\n$/, '')
  }

  /** The same with `--json`, parsed. */
  // Each test knows what it asked for.
  // oxlint-disable-next-line typescript/no-explicit-any
  async json(argv: readonly string[], options: RunOptions = {}): Promise<any> {
    return JSON.parse(await this.ok([...argv, '--json'], options))
  }

  /** Runs the program as users do, in a process of its own. */
  async spawn(argv: readonly string[], { stdin = '', env = {}, signal }: RunOptions = {}): Promise<Finished> {
    const child = spawn(process.execPath, [PROGRAM, ...argv], {
      env: { PATH: process.env['PATH'], ...this.env, ...env },
      cwd: this.folder,
    })
    signal?.addEventListener('abort', () => child.kill('SIGINT'))
    child.stdin.end(stdin)
    const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr), once(child, 'close')])
    return { code: child.exitCode ?? -1, stdout: stdout.toString(), stderr: stderr.toString() }
  }

  /** Runs a Python program, which gets the program and the command line as its arguments. */
  async inPython(source: string, argv: readonly string[]): Promise<Finished> {
    const child = spawn('python3', ['-c', source, process.execPath, PROGRAM, ...argv], {
      env: { PATH: process.env['PATH'], TERM: 'xterm-256color', ...this.env },
      cwd: this.folder,
    })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode ?? -1, stdout, stderr }
  }
}
