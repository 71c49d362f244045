import { constants } from 'node:os'
import { ApiError } from '@offshoot/contract/errors'
import { MAX_OUTPUT_BYTES, type ExecBody, type ExecResult } from '@offshoot/contract/exec'
import { GuestLinkLost, GuestRunError } from '@offshoot/guest-link/guest-link-error'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { runCommand, type CommandEnd } from '../vm/command.ts'
import type { Vm } from '../vm/vm.ts'
import type { Sandbox } from './sandbox.ts'

/** Milliseconds in which a guest must answer a new connection. */
const LINK_MS = 10_000
/** Milliseconds between the loss of a channel and the end of its QEMU, where that is the reason. */
const END_MS = 500

/**
 * Runs a shell command in a sandbox to its end.
 * @param hangUp aborts when the caller has left; its process group is then killed
 * @throws ApiError 400, 404 not running, 504 timeout with the output so far
 */
export async function execInSandbox(sandbox: Sandbox, body: ExecBody, hangUp: AbortSignal): Promise<ExecResult> {
  const startedAt = performance.now()
  const vm = runningVm(sandbox)
  const seconds = body.timeout_seconds ?? body.timeout
  const stop = new AbortController()
  const onHangUp = () => stop.abort()
  hangUp.addEventListener('abort', onHangUp, { once: true })
  if (hangUp.aborted) stop.abort()
  const log = sandbox.log.command()
  const timer = seconds === undefined ? undefined : setTimeout(() => stop.abort(), seconds * 1000)
  try {
    const link = await vm.link(Deadline.after(LINK_MS, `answer of ${sandbox.id}`))
    const command = { argv: ['/bin/sh', '-c', body.cmd], ...chosen(body) }
    const options = { stdin: body.stdin, maxBytes: MAX_OUTPUT_BYTES, stop: stop.signal, log }
    const end = await runCommand(link, command, options)
    if (hangUp.aborted) throw new ApiError('shuttingDown', { error: 'the command was stopped' })
    return answer(end, Math.round(performance.now() - startedAt), seconds)
  } catch (error) {
    throw await explain(error, vm)
  } finally {
    log.end()
    clearTimeout(timer)
    hangUp.removeEventListener('abort', onHangUp)
  }
}

function runningVm({ manifest, vm }: Sandbox): Vm {
  if (vm === null || vm.hasEnded || manifest.status !== 'running') throw new ApiError('sandboxNotRunning')
  return vm
}

function chosen({ cwd, env, user }: ExecBody) {
  return {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    ...(user === undefined ? {} : { user }),
  }
}

function answer(end: CommandEnd, durationMs: number, seconds: number | undefined): ExecResult {
  const stdout = decode(end.stdout.bytes)
  const stderr = decode(end.stderr.bytes)
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

/** Not fatal: what is no UTF-8 becomes U+FFFD. A byte order mark is output like any other. */
function decode(bytes: Buffer): string {
  return new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(bytes)
}

async function explain(error: unknown, vm: Vm): Promise<unknown> {
  if (error instanceof GuestRunError) {
    if (error.errno === constants.errno.EAGAIN) return new ApiError('internal', { error: error.message })
    return new ApiError('invalidField', { error: error.message }, { cause: error })
  }
  if (error instanceof GuestLinkLost && (await endsSoon(vm)))
    return new ApiError('sandboxNotRunning', {}, { cause: error })
  if (error instanceof DeadlineExceeded || error instanceof GuestLinkLost) {
    return new ApiError('internal', { error: 'the guest does not answer' }, { cause: error })
  }
  return error
}

/** A QEMU that dies takes the guest's channel with it a moment before its own end is known. */
async function endsSoon(vm: Vm): Promise<boolean> {
  return Deadline.after(END_MS, 'end of the VM')
    .race(vm.ended)
    .then(
      () => true,
      () => false,
    )
}
