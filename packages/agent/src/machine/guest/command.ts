import type { Readable } from 'node:stream'
import type { GuestCommand } from '@offshoot/guest-link/guest-command'
import type { GuestProcess } from '@offshoot/guest-link/guest-process'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { LogStream } from '@offshoot/contract/log'
import { Deadline } from '@offshoot/kit/deadline'
import type { CommandLog } from '../../store/logs/command-log.ts'

/** One stream's kept bytes. */
export interface Output {
  readonly bytes: Buffer
  readonly isTruncated: boolean
}

export interface CommandEnd {
  readonly stdout: Output
  readonly stderr: Output
  /** 128 + signal when a signal ended it; `null` when it was stopped by us. */
  readonly exitCode: number | null
}

/** Milliseconds for a guest to start a command, the while included for which it is held. */
const START_MS = 60_000
/** Grace for the last output of a process group that was killed. */
const AFTER_KILL_MS = 2000

export interface CommandOptions {
  readonly stdin: string | undefined
  /** Kept of each stream. */
  readonly maxBytes: number
  readonly stop: AbortSignal
  /** Gets all of both streams. */
  readonly log?: CommandLog
}

const NOTHING: Output = { bytes: Buffer.alloc(0), isTruncated: false }

/** For the start of a command, not for its end. @param stop gives the start up */
export function startDeadline(stop?: AbortSignal): Deadline {
  return Deadline.after(START_MS, 'start of a command', stop)
}

/**
 * Runs one command to its end, or until `stop` aborts: its process group is then killed and what came so far is given.
 * Output past `maxBytes` of a stream is read and dropped, so that the command goes on.
 * @throws GuestRunError when it could not start, DeadlineExceeded when the guest did not say; nothing runs then
 */
export async function runCommand(link: GuestLink, command: GuestCommand, options: CommandOptions): Promise<CommandEnd> {
  const process = await start(link, command, options)
  if (process === null) return { stdout: NOTHING, stderr: NOTHING, exitCode: null }
  if (options.stdin !== undefined) {
    process.stdin.on('error', () => undefined) // a command may end without having read all its input
    process.stdin.end(options.stdin)
  }
  const stdout = collect(process.stdout, 'stdout', options)
  const stderr = collect(process.stderr, 'stderr', options)
  const whole = Promise.all([process.exited, stdout.ended, stderr.ended])
  whole.catch(() => undefined)
  if (await finishesBefore(whole, options.stop)) {
    const [{ exitCode, signal }] = await whole
    return { stdout: stdout.output(), stderr: stderr.output(), exitCode: exitCode ?? 128 + (signal ?? 0) }
  }
  await stopGroup(process, whole)
  return { stdout: stdout.output(), stderr: stderr.output(), exitCode: null }
}

/** `null` when `stop` aborts first. */
async function start(link: GuestLink, command: GuestCommand, { stdin, stop }: CommandOptions) {
  if (stop.aborted) return null
  try {
    return await link.run({ ...command, stdin: stdin === undefined ? 'none' : 'pipe' }, startDeadline(stop))
  } catch (error) {
    if (stop.aborted && error === stop.reason) return null
    throw error
  }
}

/** False when `stop` aborts first; a failure of `whole` is thrown. */
async function finishesBefore(whole: Promise<unknown>, stop: AbortSignal): Promise<boolean> {
  if (stop.aborted) return false
  const stopped = Promise.withResolvers<false>()
  const onAbort = () => stopped.resolve(false)
  stop.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([whole.then(() => true), stopped.promise])
  } finally {
    stop.removeEventListener('abort', onAbort)
  }
}

async function stopGroup(process: GuestProcess, whole: Promise<unknown>): Promise<void> {
  process.kill('SIGKILL')
  const timer = Promise.withResolvers<void>()
  const handle = setTimeout(timer.resolve, AFTER_KILL_MS)
  await Promise.race([whole.catch(() => undefined), timer.promise])
  clearTimeout(handle)
}

function collect(stream: Readable, name: LogStream, { maxBytes, log }: CommandOptions) {
  const chunks: Buffer[] = []
  let kept = 0
  let isTruncated = false
  const ended = Promise.withResolvers<void>()
  stream.on('data', (chunk: Buffer) => {
    log?.write(name, chunk)
    const room = maxBytes - kept
    if (chunk.length > room) isTruncated = true
    if (room <= 0) return
    const part = chunk.subarray(0, room)
    chunks.push(part)
    kept += part.length
  })
  stream.once('end', ended.resolve)
  stream.once('error', ended.reject)
  ended.promise.catch(() => undefined)
  return { ended: ended.promise, output: (): Output => ({ bytes: Buffer.concat(chunks), isTruncated }) }
}
