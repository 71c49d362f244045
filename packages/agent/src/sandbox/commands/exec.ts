import type { Encoding } from '@offshoot/contract/encoding'
import { ApiError } from '@offshoot/contract/errors'
import { MAX_OUTPUT_BYTES, type ExecBody, type ExecResult } from '@offshoot/contract/exec'
import type { GuestLink } from '@offshoot/guest-link/link'
import { runCommand, type CommandEnd } from '../../machine/guest/command.ts'
import { bytesOf } from './chunk-encoder.ts'
import { guestCommand, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

/**
 * Runs a shell command in a sandbox until it exits.
 * @param hangUp aborts when the caller has disconnected; then the agent kills the process group
 * @throws ApiError 400, 404 not running, 409 paused before the start or hibernated during the command, 504 timeout with the
 * output so far
 */
export function execInSandbox(sandbox: Sandbox, body: ExecBody, hangUp: AbortSignal): Promise<ExecResult> {
  return withGuest(sandbox, (link) => exec(link, sandbox, body, hangUp))
}

async function exec(link: GuestLink, sandbox: Sandbox, body: ExecBody, hangUp: AbortSignal): Promise<ExecResult> {
  const startedAt = performance.now()
  const seconds = body.timeout_seconds ?? body.timeout
  const stop = new AbortController()
  const onHangUp = () => stop.abort()
  hangUp.addEventListener('abort', onHangUp, { once: true })
  if (hangUp.aborted) stop.abort()
  const log = sandbox.log.command()
  const timer = seconds === undefined ? undefined : setTimeout(() => stop.abort(), seconds * 1000)
  try {
    const options = { stdin: bytesOf(body.stdin, body.encoding), maxBytes: MAX_OUTPUT_BYTES, stop: stop.signal, log }
    const end = await runCommand(link, guestCommand(sandbox, body), options)
    if (hangUp.aborted) throw new ApiError('shuttingDown', { error: 'the command was stopped' })
    return answer(end, Math.round(performance.now() - startedAt), seconds, body.encoding)
  } finally {
    log.end()
    clearTimeout(timer)
    hangUp.removeEventListener('abort', onHangUp)
  }
}

function answer(
  end: CommandEnd,
  durationMs: number,
  seconds: number | undefined,
  encoding: Encoding | undefined,
): ExecResult {
  const stdout = textOf(end.stdout.bytes, encoding)
  const stderr = textOf(end.stderr.bytes, encoding)
  const truncated = end.stdout.isTruncated || end.stderr.isTruncated ? ({ truncated: true } as const) : {}
  if (end.exitCode === null) {
    throw new ApiError('commandTimeout', {
      error: `command timeout after ${seconds}s`,
      stdout,
      stderr,
      duration_ms: durationMs,
      ...truncated,
    })
  }
  return { stdout, stderr, exit_code: end.exitCode, duration_ms: durationMs, ...truncated }
}

/** Under `utf8`, invalid bytes become U+FFFD, and a byte order mark is kept. */
function textOf(bytes: Buffer, encoding: Encoding | undefined): string {
  if (encoding === 'base64') return bytes.toString('base64')
  return new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes)
}
