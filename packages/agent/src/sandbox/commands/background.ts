/**
 * Commands that outlive their callers. The guest keeps them and their output (guest/PROTOCOL.md, "Kept commands"), so the
 * agent stores nothing about them: a restarted agent asks the guest.
 */
import { randomUUID } from 'node:crypto'
import type { BackgroundExec, BackgroundStarted } from '@offshoot/contract/background-exec'
import { ApiError } from '@offshoot/contract/errors'
import type { ExecBody } from '@offshoot/contract/exec'
import { isUuid } from '@offshoot/contract/ids'
import type { GuestAttachment } from '@offshoot/guest-link/guest-attachment'
import type { KeptCommand } from '@offshoot/guest-link/kept-command'
import { formatLabel, parseLabel } from './background-label.ts'
import { BACKGROUND_PREFIX, watchStarted } from './background-watch.ts'
import { guestDeadline, shellCommand, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { exitCodeOf } from './streamed-command.ts'

const OUTPUT_BYTES = 1024 * 1024

/** @throws ApiError if the command cannot start; then nothing ran */
export async function startBackground(sandbox: Sandbox, body: ExecBody): Promise<BackgroundStarted> {
  const execId = randomUUID()
  const seconds = body.timeout_seconds ?? body.timeout
  const timeoutAt = seconds === undefined ? null : new Date(Date.now() + seconds * 1000)
  const command = { ...shellCommand(sandbox, body), stdin: body.stdin === undefined ? 'none' : 'pipe' } as const
  const options = { id: keptId(execId), label: formatLabel(timeoutAt, body.cmd), logBytes: OUTPUT_BYTES }
  const { watched } = sandbox.background
  watched.add(execId)
  try {
    const { pid } = await withGuest(sandbox, (link) =>
      link.keep(command, options, guestDeadline('start of a background command')),
    )
    await watchStarted(sandbox, execId, timeoutAt, body.stdin)
    return { pid, exec_id: execId }
  } catch (error) {
    watched.delete(execId)
    throw error
  }
}

/** Oldest first. */
export async function listBackground(sandbox: Sandbox): Promise<BackgroundExec[]> {
  const kept = await withGuest(sandbox, (link) => link.kept(guestDeadline('list of background commands')))
  return kept
    .filter(({ id }) => id.startsWith(BACKGROUND_PREFIX))
    .map(show)
    .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
}

/** @throws ApiError 404 */
export async function findBackground(sandbox: Sandbox, execId: string): Promise<BackgroundExec> {
  const found = (await listBackground(sandbox)).find(({ exec_id }) => exec_id === execId)
  if (found === undefined) throw new ApiError('notFound')
  return found
}

/** No effect on a command that has exited. @throws ApiError 404 */
export async function signalBackground(sandbox: Sandbox, execId: string, signal: NodeJS.Signals): Promise<void> {
  await withGuest(sandbox, (link) => link.signalKept(keptId(execId), signal, guestDeadline('signal')))
}

/** Kills the command if it runs, and deletes its output. @throws ApiError 404 */
export async function removeBackground(sandbox: Sandbox, execId: string): Promise<void> {
  await withGuest(sandbox, (link) => link.forget(keptId(execId), guestDeadline('end of a background command')))
}

/** The output of a command from an offset, then live. @throws ApiError 404 */
export function attachBackground(sandbox: Sandbox, execId: string, fromOffset: number): Promise<GuestAttachment> {
  return withGuest(sandbox, (link) => link.attach(keptId(execId), { fromOffset }, guestDeadline('attaching')))
}

function keptId(execId: string): string {
  if (!isUuid(execId)) throw new ApiError('notFound')
  return BACKGROUND_PREFIX + execId
}

function show({ id, pid, label, exit, startedAt, endedAt, nextOffset, oldestOffset }: KeptCommand): BackgroundExec {
  const { cmd, timeoutAt } = parseLabel(label)
  return {
    exec_id: id.slice(BACKGROUND_PREFIX.length),
    pid,
    cmd,
    status: exit === null ? 'running' : 'exited',
    exit_code: exit === null ? null : exitCodeOf(exit),
    started_at: startedAt.toISOString(),
    timeout_at: timeoutAt?.toISOString() ?? null,
    ended_at: exit === null ? null : (endedAt?.toISOString() ?? null),
    output_bytes: nextOffset,
    oldest_offset: oldestOffset,
  }
}
