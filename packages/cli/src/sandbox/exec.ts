import { Buffer } from 'node:buffer'
import type { ExecResult } from '@offshoot/contract/exec'
import { type Offshoot, type RouteInput, serverEvents } from '@offshoot/sdk'
import type { Cli } from '../frame/cli.ts'
import { type Action, operand } from '../frame/command.ts'
import { EXIT, Failure, UsageError } from '../frame/failure.ts'
import { resolve } from '../frame/resolve.ts'

interface Options {
  readonly user?: string
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: boolean
  readonly timeout?: number
  readonly detach?: boolean
}

export const run: Action<Options> = async (cli, line) => {
  const { user, cwd, env, timeout, stdin = false, detach = false, json = false } = line.options
  if (detach && stdin) throw new UsageError('--detach and --stdin exclude each other')
  const api = await cli.api()
  const id = await resolve(api, 'sandbox', operand(line, 0))
  const words = line.operands.slice(1)
  const [cmd = ''] = words
  const command = words.length === 1 ? { cmd } : { argv: words }
  const body = { ...command, user, cwd, env, timeout_seconds: timeout }
  if (detach) {
    const started = await api.request('POST /v1/sandboxes/{id}/exec', {
      path: { id },
      body: { ...body, background: true },
    })
    return json ? cli.out.json(started) : cli.out.line('exec_id' in started ? started.exec_id : '')
  }
  if (json) {
    const request = { path: { id }, body, signal: cli.signal, timeoutMs: 0 }
    const result = (await api.request('POST /v1/sandboxes/{id}/exec', request)) as ExecResult
    cli.out.json(result)
    return result.exit_code
  }
  return stream(cli, api, id, body, stdin)
}

type Body = RouteInput<'POST /v1/sandboxes/{id}/exec'>['body']

/**
 * Passes on the output as it arrives, byte for byte. When the user interrupts the program, the connection ends, and
 * with it the command; a command with standard input runs in the background and is killed.
 */
async function stream(cli: Cli, api: Offshoot, id: string, body: Body, takesStdin: boolean): Promise<number> {
  const background = takesStdin ? { background: true, stdin_open: true, backpressure: true } : {}
  const response = await api.fetch('POST /v1/sandboxes/{id}/exec/stream', {
    path: { id },
    body: { ...body, encoding: 'base64', ...background },
    headers: { accept: 'text/event-stream' },
    signal: cli.signal,
    timeoutMs: 0,
  })
  if (response.body === null) throw new Failure('the server answered without output')
  const requestId = response.headers.get('x-request-id')
  for await (const { event, data } of serverEvents(response.body)) {
    const value = JSON.parse(data) as { chunk?: string; exit_code?: number; error?: string; exec_id?: string }
    if (event === 'started') void passStdin(cli, api, { id, exec_id: value.exec_id ?? '' })
    else if (event === 'stdout') cli.streams.stdout.write(Buffer.from(value.chunk ?? '', 'base64'))
    else if (event === 'stderr') cli.streams.stderr.write(Buffer.from(value.chunk ?? '', 'base64'))
    else if (event === 'exit') return value.exit_code ?? EXIT.failed
    else if (event === 'error') throw new Failure(value.error ?? 'the command failed', { requestId })
  }
  throw new Failure('the connection ended before the command', {
    next: 'see what it wrote with offshoot sandbox logs',
    requestId,
  })
}

type Exec = Readonly<Record<'id' | 'exec_id', string>>

async function passStdin(cli: Cli, api: Offshoot, path: Exec): Promise<void> {
  const kill = () =>
    void api
      .request('POST /v1/sandboxes/{id}/execs/{exec_id}/signal', { path, body: { signal: 'SIGKILL' } })
      .catch(() => undefined)
  cli.signal.addEventListener('abort', kill, { once: true })
  try {
    for await (const chunk of cli.streams.stdin) {
      const stdin = Buffer.from(chunk as Uint8Array).toString('base64')
      await api.request('POST /v1/sandboxes/{id}/execs/{exec_id}/stdin', { path, body: { stdin, encoding: 'base64' } })
    }
    await api.request('POST /v1/sandboxes/{id}/execs/{exec_id}/stdin', { path, body: { eof: true } })
  } catch {
    // The command has ended, or does not read any more. Its exit code is what counts.
  }
}
