import type { Readable } from 'node:stream'
import type { GuestCommand } from '@offshoot/guest-link/guest-command'
import type { GuestProcess } from '@offshoot/guest-link/guest-process'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { LogStream } from '@offshoot/contract/log'
import { Deadline } from '@offshoot/kit/deadline'
import type { CommandLog } from '../../store/logs/command-log.ts'

/** The collected bytes of one stream. */
export interface Output {
  readonly bytes: Buffer
  readonly isTruncated: boolean
}

export interface CommandEnd {
  readonly stdout: Output
  readonly stderr: Output
  /** 128 + signal if a signal ended it; `null` if the agent stopped it. */
  readonly exitCode: number | null
}

/** Milliseconds for a guest to start a command, including the time during which it holds its processes. */
const START_MS = 60_000
/** Grace period in milliseconds for the last output of a killed process group. */
const AFTER_KILL_MS = 2000

export interface CommandOptions {
  readonly stdin: string | Uint8Array | undefined
  /** Maximum bytes to collect per stream. */
  readonly maxBytes: number
  readonly stop: AbortSignal
  /** Receives all output of both streams. */
  readonly log?: CommandLog
}

const NOTHING: Output = { bytes: Buffer.alloc(0), isTruncated: false }

/** Deadline for the start of a command, not for its end. @param stop aborts the start */
export function startDeadline(stop?: AbortSignal): Deadline {
  return Deadline.after(START_MS, 'start of a command', stop)
}

/**
 * Runs one command until it exits or `stop` aborts. On abort, kills its process group and returns the output so far.
 * Reads and drops output above `maxBytes` of a stream, so that the command does not block.
 * @throws GuestRunError if it could not start, DeadlineExceeded if the guest did not answer; in both cases nothing runs
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

/** `false` if `stop` aborts first. Rethrows an error of `whole`. */
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
