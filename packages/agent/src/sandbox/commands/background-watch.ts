/**
 * Watches the background commands of a sandbox: copies their output into the sandbox's log, and kills a command when its
 * timeout has passed.
 *
 *     (started or adopted) ──► watched ──► ended or deleted
 *                                 └──link lost──► unwatched, until it is adopted
 *
 * Invariants:
 *  - Each command is watched once.
 *  - All state that adoption needs is in the guest and in the log. A restarted agent therefore logs each byte once, as long
 *    as the guest still has it.
 */
import { ApiError } from '@offshoot/contract/errors'
import type { GuestAttachment } from '@offshoot/guest-link/guest-attachment'
import { GuestLinkLost } from '@offshoot/guest-link/guest-link-error'
import type { KeptCommand } from '@offshoot/guest-link/kept-command'
import type { LogChunk } from '@offshoot/guest-link/log-output'
import type { Logger } from 'pino'
import { NOTHING_LOGGED, type LoggedOutput } from '../../store/logs/command-log.ts'
import { parseLabel } from './background-label.ts'
import { guestDeadline, withAwakeGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

/** Prefix of background commands' ids in the guest. Terminals have another one (`terminal.ts`). */
export const BACKGROUND_PREFIX = 'exec:'
/** Milliseconds for which a command with backpressure waits for the first client. */
const FIRST_FOLLOWER_MS = 10_000
/** Milliseconds before a retry if the guest cannot be reached, for example because its sandbox is paused. */
const RETRY_MS = 1000

interface Started {
  readonly timeoutAt: Date | null
  readonly input: { readonly bytes: Buffer | undefined; readonly isOpen: boolean }
  /** No output is read before a client follows it, or some seconds have passed. */
  readonly waitsForFollower: boolean
}

/** Watches a command that has just started. @throws ApiError if the guest does not answer; the command runs nevertheless */
export async function watchStarted(
  sandbox: Sandbox,
  execId: string,
  { timeoutAt, input, waitsForFollower }: Started,
): Promise<void> {
  if (timeoutAt !== null) limit(sandbox, execId, timeoutAt)
  const attachment = await attach(sandbox, execId, 0)
  if (waitsForFollower) pauseUntilFollowed(sandbox, execId, attachment)
  void record(sandbox, execId, attachment, NOTHING_LOGGED)
  const { stdin } = attachment
  if (input.bytes !== undefined) stdin.write(input.bytes)
  if (!input.isOpen) stdin.end()
}

/** The guest holds a command back while an attachment does not read, so this one does not read at first. */
function pauseUntilFollowed(sandbox: Sandbox, execId: string, { output }: GuestAttachment): void {
  const { waiting } = sandbox.background
  output.pause()
  const resume = () => {
    clearTimeout(timer)
    waiting.delete(execId)
    output.resume()
  }
  const timer = setTimeout(resume, FIRST_FOLLOWER_MS)
  waiting.set(execId, resume)
  output.once('close', resume)
}

/**
 * Adopts the unwatched commands of a guest: after a restart of the agent, a wake, or a fork.
 * @throws ApiError if the guest does not answer
 */
export async function adoptBackground(sandbox: Sandbox): Promise<void> {
  const kept = await withAwakeGuest(sandbox, (link) => link.kept(guestDeadline('list of background commands')))
  const unwatched = kept.filter(
    ({ id }) => id.startsWith(BACKGROUND_PREFIX) && !sandbox.background.watched.has(execIdOf(id)),
  )
  if (unwatched.length === 0) return
  for (const { id } of unwatched) sandbox.background.watched.add(execIdOf(id))
  const logged = sandbox.log.keptOutput()
  await Promise.all(unwatched.map((command) => adopt(sandbox, command, logged)))
}

/** Runs in the background while the agent starts: one guest after the other. */
export async function adoptAllBackground(sandboxes: readonly Sandbox[], log: Logger): Promise<void> {
  for (const sandbox of sandboxes) {
    if (sandbox.manifest.status !== 'running') continue
    await adoptBackground(sandbox).catch((error: unknown) => {
      log.warn({ err: error, sandbox_id: sandbox.id }, 'background commands not adopted')
    })
  }
}

async function adopt(
  sandbox: Sandbox,
  { id, label, exit, nextOffset }: KeptCommand,
  loggedOutput: Promise<ReadonlyMap<string, LoggedOutput>>,
): Promise<void> {
  const execId = execIdOf(id)
  const { watched } = sandbox.background
  try {
    const logged = (await loggedOutput).get(execId) ?? NOTHING_LOGGED
    const isLogged = Math.max(logged.stdout, logged.stderr) >= nextOffset
    if (exit !== null && isLogged) {
      watched.delete(execId)
      return
    }
    const { timeoutAt } = parseLabel(label)
    if (exit === null && timeoutAt !== null) limit(sandbox, execId, timeoutAt)
    const attachment = await attach(sandbox, execId, Math.min(logged.stdout, logged.stderr))
    void record(sandbox, execId, attachment, logged)
  } catch (error) {
    watched.delete(execId)
    // The command was deleted meanwhile.
    if (!(error instanceof ApiError && error.status === 404)) throw error
  }
}

function execIdOf(id: string): string {
  return id.slice(BACKGROUND_PREFIX.length)
}

function attach(sandbox: Sandbox, execId: string, fromOffset: number): Promise<GuestAttachment> {
  return withAwakeGuest(sandbox, (link) =>
    link.attach(BACKGROUND_PREFIX + execId, { fromOffset }, guestDeadline('look at a background command')),
  )
}

/** @param logged offsets already in the log, per stream: both streams share one offset count, and one may be behind */
async function record(
  sandbox: Sandbox,
  execId: string,
  attachment: GuestAttachment,
  logged: LoggedOutput,
): Promise<void> {
  const { output, exited } = attachment
  const { watched, limits, attachments } = sandbox.background
  attachments.set(execId, attachment)
  attachment.stdin.on('error', () => undefined)
  const log = sandbox.log.command(execId)
  output.on('data', ({ stream, offset, bytes }: LogChunk) => {
    const fresh = bytes.subarray(Math.max(0, logged[stream] - offset))
    if (fresh.length > 0) log.write(stream, fresh, offset + bytes.length)
  })
  const read = new Promise((resolve) => output.once('close', resolve))
  const end = await exited.catch((error: unknown) => error)
  await read
  if (attachments.get(execId) === attachment) attachments.delete(execId)
  clearTimeout(limits.get(execId))
  limits.delete(execId)
  watched.delete(execId)
  if (!(end instanceof GuestLinkLost)) return log.end()
  // The link is lost. The next adoption reads an unfinished line again. If the guest still runs, this agent adopts.
  if (watched.size === 0) setTimeout(() => void adoptBackground(sandbox).catch(() => undefined), RETRY_MS).unref()
}

function limit(sandbox: Sandbox, execId: string, timeoutAt: Date): void {
  const leftMs = Math.max(0, timeoutAt.getTime() - Date.now())
  const timer = setTimeout(() => void endOverdue(sandbox, execId), leftMs).unref()
  sandbox.background.limits.set(execId, timer)
}

/** Kills a command after its timeout. A paused or hibernated sandbox is not woken for it: the agent retries later. */
async function endOverdue(sandbox: Sandbox, execId: string): Promise<void> {
  const { status } = sandbox.manifest
  if (status === 'failed' || status === 'deleting') return
  try {
    if (status === 'running') {
      const deadline = guestDeadline('end of a background command')
      await withAwakeGuest(sandbox, (link) => link.signalKept(BACKGROUND_PREFIX + execId, 'SIGKILL', deadline))
      return
    }
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return
  }
  limit(sandbox, execId, new Date(Date.now() + RETRY_MS))
}
