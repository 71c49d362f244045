import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { inSandbox } from './sandbox-benches.ts'
import { promptOfTerminal, PROMPT } from './ssh-benches.ts'

const run = promisify(execFile)
const PACK = resolve(import.meta.dirname, '../bin/lib/pack.mjs')

/** The command `offshoot` of the npm package, in a folder of its own. */
async function withPackage<T>(use: (program: string, folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-cli-bench-'))
  try {
    const { stdout } = await run(process.execPath, [PACK, folder])
    await run('tar', ['-xzf', stdout.trim(), '-C', folder])
    return await use(join(folder, 'package/bin/offshoot.js'), folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** From the start of `offshoot --help` to its end. Floor: Node.js without a program. Alternately. */
export async function cliHelp(_offshoot: Offshoot, n = 60): Promise<Record<string, Figure>> {
  const [help, bare] = [new Samples(), new Samples()]
  await withPackage(async (program) => {
    for (const _ of rounds(n)) {
      await help.time(async () => run(process.execPath, [program, '--help']))
      await bare.time(async () => run(process.execPath, ['-e', '0']))
    }
  })
  return { cli_help_ms: help.figure('ms', bare.p50) }
}

/** From the start of `offshoot sandbox exec ID true` to its end. Floor: the same command by curl. Alternately. */
export async function cliExec(offshoot: Offshoot, n = 60): Promise<Record<string, Figure>> {
  const [cli, curl] = [new Samples(), new Samples()]
  const { base_url: url, api_key: key } = offshoot.credentials
  await inPackage(offshoot, async (program, id, env) => {
    const headers = ['-H', `authorization: Bearer ${key}`, '-H', 'content-type: application/json']
    const request = ['-fsS', ...headers, '-d', '{"cmd":"true"}', `${url}/v1/sandboxes/${id}/exec`]
    for (const _ of rounds(n)) {
      await cli.time(async () => run(process.execPath, [program, 'sandbox', 'exec', id, 'true'], { env }))
      await curl.time(async () => run('curl', request))
    }
  })
  return { cli_exec_ms: cli.figure('ms', curl.p50) }
}

/** From the start of `offshoot shell` to the prompt of a login shell. Floor: `exec/pty` with a connection of its own. */
export async function cliFirstPrompt(offshoot: Offshoot, n = 40): Promise<Record<string, Figure>> {
  const [shell, terminal] = [new Samples(), new Samples()]
  await inPackage(offshoot, async (program, id, env) => {
    for (const _ of rounds(n)) {
      await shell.time(async () => promptOf(spawn(process.execPath, [program, 'shell', id], { env, stdio: 'pipe' })))
      await terminal.time(async () => promptOfTerminal(offshoot, id))
    }
  })
  return { cli_first_prompt_ms: shell.figure('ms', terminal.p50) }
}

async function inPackage<T>(
  offshoot: Offshoot,
  use: (program: string, id: string, env: NodeJS.ProcessEnv) => Promise<T>,
): Promise<T> {
  const { base_url: url, api_key: key } = offshoot.credentials
  return withPackage(async (program, folder) =>
    inSandbox(offshoot, async (id) => {
      const env = { OFFSHOOT_BASE_URL: url, OFFSHOOT_API_KEY: key, OFFSHOOT_CONFIG: join(folder, 'config.json') }
      return use(program, id, { ...process.env, ...env })
    }),
  )
}

async function promptOf(child: ChildProcess): Promise<void> {
  const { promise, resolve: seen, reject } = Promise.withResolvers<void>()
  let shown = ''
  child.stdout?.on('data', (bytes: Buffer) => {
    shown += bytes.toString()
    if (PROMPT.test(shown)) seen()
  })
  child.once('close', () => reject(new Error(`offshoot shell ended: ${shown}`)))
  await promise
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}
