/**
 * Commands that outlive their callers. The guest keeps them and their output (guest/PROTOCOL.md, "Kept commands"), so the
 * agent stores nothing about them: a restarted agent asks the guest.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { BackgroundExec, BackgroundStarted } from '@offshoot/contract/background-exec'
import { ApiError } from '@offshoot/contract/errors'
import type { ExecBody } from '@offshoot/contract/exec'
import { isUuid } from '@offshoot/contract/ids'
import type { GuestAttachment } from '@offshoot/guest-link/guest-attachment'
import type { GuestCommand } from '@offshoot/guest-link/guest-command'
import { GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { KeepOptions, KeptCommand, KeptSelection } from '@offshoot/guest-link/kept-command'
import type { TerminalSize } from '@offshoot/guest-link/terminal-size'
import { formatLabel, parseLabel, shortened } from './background-label.ts'
import { adoptBackground, BACKGROUND_PREFIX, watchStarted } from './background-watch.ts'
import { bytesOf } from './chunk-encoder.ts'
import { guestDeadline, guestCommand, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { exitCodeOf } from './streamed-command.ts'

const OUTPUT_BYTES = 1024 * 1024
/** Attempts to attach to a running command, and milliseconds between them. */
const MAX_TRIES = 100
const RETRY_MS = 20
/** Of Linux: at most 4,194,304. */
const PID = /^[1-9]\d{0,6}$/
const TERMINAL_ENVIRONMENT = { TERM: 'xterm-256color' }

/** @throws ApiError if the command cannot start; then nothing ran */
export async function startBackground(sandbox: Sandbox, body: ExecBody): Promise<BackgroundStarted> {
  const { pid, execId, watching } = await begin(sandbox, body, body.backpressure === true)
  await watching
  return { pid, exec_id: execId }
}

/** Starts a command, and follows it from its first byte. @throws ApiError as {@link startBackground} */
export async function startFollowed(
  sandbox: Sandbox,
  body: ExecBody,
): Promise<{ readonly started: BackgroundStarted; readonly attachment: GuestAttachment }> {
  const { pid, execId, watching } = await begin(sandbox, body, false)
  const following = attachBackground(sandbox, execId, 0)
  try {
    const [attachment] = await Promise.all([following, watching])
    return { started: { pid, exec_id: execId }, attachment }
  } catch (error) {
    // An attachment that nobody reads would hold the command back.
    void following.then(leave, () => undefined)
    throw error
  }
}

export function leave(attachment: GuestAttachment): void {
  attachment.detach()
  attachment.output.destroy()
}

/** `watching` resolves when the agent watches the command. */
async function begin(sandbox: Sandbox, body: ExecBody, waitsForFollower: boolean) {
  const execId = randomUUID()
  const seconds = body.timeout_seconds ?? body.timeout
  const timeoutAt = seconds === undefined ? null : new Date(Date.now() + seconds * 1000)
  const { stdin, stdin_open: isOpen = false, pty } = body
  const command = {
    ...guestCommand(sandbox, body),
    stdin: stdin === undefined && !isOpen && pty === undefined ? 'none' : 'pipe',
    ...(pty !== undefined && { pty, env: { ...TERMINAL_ENVIRONMENT, ...body.env } }),
  } as const
  const label = formatLabel(timeoutAt, shownCommand(body))
  const options = { id: keptId(execId), label, logBytes: OUTPUT_BYTES, waits: body.backpressure === true }
  const { watched } = sandbox.background
  watched.add(execId)
  try {
    const { pid } = await withGuest(sandbox, (link) => keep(link, command, options))
    const input = { bytes: bytesOf(stdin, body.encoding), isOpen: isOpen || pty !== undefined }
    const watching = watchStarted(sandbox, execId, { timeoutAt, input, waitsForFollower })
    watching.catch(() => watched.delete(execId))
    return { pid, execId, watching }
  } catch (error) {
    watched.delete(execId)
    throw error
  }
}

/** A guest of an earlier release refuses `waits` and a long label. The command then runs without. */
async function keep(link: GuestLink, command: GuestCommand, options: KeepOptions): Promise<{ readonly pid: number }> {
  const deadline = guestDeadline('start of a background command')
  try {
    return await link.keep(command, options, deadline)
  } catch (error) {
    const { label = '', waits } = options
    const isRefused = error instanceof GuestRunError && error.errno === constants.errno.EINVAL
    const earlier = { ...options, label: shortened(label), waits: false }
    if (!isRefused || (waits !== true && earlier.label === label)) throw error
    return link.keep(command, earlier, deadline)
  }
}

/** Oldest first. */
export async function listBackground(sandbox: Sandbox, selection: KeptSelection = {}): Promise<BackgroundExec[]> {
  const kept = await withGuest(sandbox, (link) => link.kept(guestDeadline('list of background commands'), selection))
  return kept
    .filter(({ id }) => id.startsWith(BACKGROUND_PREFIX))
    .map(show)
    .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
}

/** @param execId its id, or its process id; of several commands that had this one, the newest. @throws ApiError 404 */
export async function findBackground(sandbox: Sandbox, execId: string): Promise<BackgroundExec> {
  const selection = PID.test(execId) ? { pid: Number(execId) } : { id: keptId(execId) }
  const found = (await listBackground(sandbox, selection)).at(-1)
  if (found === undefined) throw new ApiError('notFound')
  return found
}

/** No effect on a command that has exited. @throws ApiError 404 */
export async function signalBackground(sandbox: Sandbox, execId: string, signal: NodeJS.Signals): Promise<void> {
  await withGuest(sandbox, (link) => link.signalKept(keptId(execId), signal, guestDeadline('signal')))
}

export interface Input {
  readonly bytes: Buffer | undefined
  /** Closes the input after the bytes. */
  readonly isEnd: boolean
}

/**
 * Gives a command input. Resolves when it has been taken into the buffer of the command's input (64 KiB), which the
 * command may not have read yet.
 * @param hangUp aborts the wait for room; part of the input may then have been given
 * @throws ApiError 404, 409 if it has ended, or its input is closed
 */
export async function writeToBackground(
  sandbox: Sandbox,
  execId: string,
  { bytes, isEnd }: Input,
  hangUp: AbortSignal,
): Promise<void> {
  const { stdin } = await runningAttachment(sandbox, execId)
  if (stdin.writableEnded || stdin.destroyed) throw inputClosed()
  if (bytes !== undefined && bytes.length > 0) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    stdin.write(bytes, (error) => (error ? reject(inputClosed()) : resolve()))
    await abortable(promise, hangUp)
  }
  if (isEnd) stdin.end()
}

/** No effect on a command without a terminal. @throws ApiError 404, 409 if it has ended */
export async function resizeBackground(sandbox: Sandbox, execId: string, size: TerminalSize): Promise<void> {
  const attachment = await runningAttachment(sandbox, execId)
  attachment.resize(size)
}

/**
 * Waits until the command has ended, the time is over, or the caller has hung up.
 * @throws ApiError 404
 */
export async function waitForBackground(
  sandbox: Sandbox,
  execId: string,
  seconds: number,
  hangUp: AbortSignal,
): Promise<BackgroundExec> {
  const over = AbortSignal.any([hangUp, AbortSignal.timeout(seconds * 1000)])
  for (;;) {
    const found = await findBackground(sandbox, execId)
    if (found.status === 'exited' || over.aborted) return found
    const attachment = await attachmentOf(sandbox, found.exec_id)
    const next: Promise<unknown> = attachment === undefined ? delay(RETRY_MS) : attachment.exited
    await abortable(next, over).catch(() => undefined)
  }
}

/** @throws ApiError 404, 409 if it has ended */
async function runningAttachment(sandbox: Sandbox, execId: string): Promise<GuestAttachment> {
  for (let tries = 1; ; tries++) {
    const { exec_id: id, status } = await findBackground(sandbox, execId)
    if (status === 'exited') throw new ApiError('conflict', { detail: 'the command has ended' })
    const attachment = await attachmentOf(sandbox, id)
    if (attachment !== undefined) return attachment
    if (tries === MAX_TRIES) throw new ApiError('internal', { error: 'the guest does not answer' })
    await delay(RETRY_MS)
  }
}

/**
 * The agent's own attachment to a command, which lives as long as the command.
 * @returns `undefined` if the command has just ended, or another request is attaching to it
 */
async function attachmentOf(sandbox: Sandbox, id: string): Promise<GuestAttachment | undefined> {
  const { attachments } = sandbox.background
  if (!attachments.has(id)) await adoptBackground(sandbox)
  return attachments.get(id)
}

const inputClosed = () => new ApiError('conflict', { detail: 'the standard input of the command is closed' })

/** Kills the command if it runs, and deletes its output. @throws ApiError 404 */
export async function removeBackground(sandbox: Sandbox, execId: string): Promise<void> {
  await withGuest(sandbox, (link) => link.forget(keptId(execId), guestDeadline('end of a background command')))
}

/** The output of a command from an offset, then live. @throws ApiError 404 */
export async function attachBackground(sandbox: Sandbox, execId: string, fromOffset: number): Promise<GuestAttachment> {
  const attachment = await withGuest(sandbox, (link) =>
    link.attach(keptId(execId), { fromOffset }, guestDeadline('attaching')),
  )
  sandbox.background.waiting.get(execId)?.()
  return attachment
}

function keptId(execId: string): string {
  if (!isUuid(execId)) throw new ApiError('notFound')
  return BACKGROUND_PREFIX + execId
}

function show({
  id,
  pid,
  label,
  exit,
  isTerminal,
  startedAt,
  endedAt,
  nextOffset,
  oldestOffset,
}: KeptCommand): BackgroundExec {
  const { cmd, timeoutAt } = parseLabel(label)
  return {
    exec_id: id.slice(BACKGROUND_PREFIX.length),
    pid,
    cmd,
    is_pty: isTerminal,
    status: exit === null ? 'running' : 'exited',
    exit_code: exit === null ? null : exitCodeOf(exit),
    started_at: startedAt.toISOString(),
    timeout_at: timeoutAt?.toISOString() ?? null,
    ended_at: exit === null ? null : (endedAt?.toISOString() ?? null),
    output_bytes: nextOffset,
    oldest_offset: oldestOffset,
  }
}

/** Rejects with the signal's reason when it aborts first. */
function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(signal.reason as Error)
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', onAbort))
}

const PLAIN = /^[\w@%+=:,./-]+$/

/** The command line as a shell would take it. */
function shownCommand({ argv, cmd = '' }: ExecBody): string {
  return argv?.map((each) => (PLAIN.test(each) ? each : `'${each.replaceAll("'", `'\\''`)}'`)).join(' ') ?? cmd
}
