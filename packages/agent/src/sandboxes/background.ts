/**
 * Commands that outlive their callers. The guest keeps them and their output (guest/PROTOCOL.md, "Kept commands"): an
 * agent that starts anew finds them there, and remembers nothing itself.
 */
import { randomUUID } from 'node:crypto'
import type { BackgroundExec, BackgroundStarted } from '@offshoot/contract/background-exec'
import { ApiError } from '@offshoot/contract/errors'
import type { ExecBody } from '@offshoot/contract/exec'
import { isUuid } from '@offshoot/contract/ids'
import type { GuestAttachment } from '@offshoot/guest-link/guest-attachment'
import type { KeptCommand } from '@offshoot/guest-link/kept-command'
import type { LogChunk } from '@offshoot/guest-link/log-output'
import { guestDeadline, shellCommand, withGuest } from './guest-access.ts'
import type { Sandbox } from './sandbox.ts'
import { exitCodeOf } from './streamed-command.ts'

const PREFIX = 'exec:'
const OUTPUT_BYTES = 1024 * 1024
const LABEL_MAX_BYTES = 120

/** @throws ApiError when it cannot start; nothing ran */
export async function startBackground(sandbox: Sandbox, body: ExecBody): Promise<BackgroundStarted> {
  if ((body.timeout_seconds ?? body.timeout) !== undefined) {
    throw new ApiError('invalidField', { error: 'timeout_seconds is not for background commands: signal or delete it' })
  }
  const execId = randomUUID()
  const hasStdin = body.stdin !== undefined
  return withGuest(sandbox, async (link) => {
    const command = { ...shellCommand(body), stdin: hasStdin ? 'pipe' : 'none' } as const
    const options = { id: PREFIX + execId, label: labelOf(body.cmd), logBytes: OUTPUT_BYTES }
    const { pid } = await link.keep(command, options, guestDeadline('start of a background command'))
    const attachment = await link.attach(options.id, {}, guestDeadline('first look at a background command'))
    record(sandbox, execId, attachment)
    if (hasStdin) attachment.stdin.on('error', () => undefined).end(body.stdin)
    return { pid, exec_id: execId }
  })
}

/** Oldest first. */
export async function listBackground(sandbox: Sandbox): Promise<BackgroundExec[]> {
  const kept = await withGuest(sandbox, (link) => link.kept(guestDeadline('list of background commands')))
  return kept
    .filter(({ id }) => id.startsWith(PREFIX))
    .map(show)
    .sort((a, b) => (a.started_at < b.started_at ? -1 : 1))
}

/** @throws ApiError 404 */
export async function findBackground(sandbox: Sandbox, execId: string): Promise<BackgroundExec> {
  const found = (await listBackground(sandbox)).find(({ exec_id }) => exec_id === execId)
  if (found === undefined) throw new ApiError('notFound')
  return found
}

/** Nothing happens to one that has ended. @throws ApiError 404 */
export async function signalBackground(sandbox: Sandbox, execId: string, signal: NodeJS.Signals): Promise<void> {
  await withGuest(sandbox, (link) => link.signalKept(keptId(execId), signal, guestDeadline('signal')))
}

/** Kills it if it runs, and its output goes. @throws ApiError 404 */
export async function removeBackground(sandbox: Sandbox, execId: string): Promise<void> {
  await withGuest(sandbox, (link) => link.forget(keptId(execId), guestDeadline('end of a background command')))
}

/** Its output from an offset on, then live. @throws ApiError 404 */
export function attachBackground(sandbox: Sandbox, execId: string, fromOffset: number): Promise<GuestAttachment> {
  return withGuest(sandbox, (link) => link.attach(keptId(execId), { fromOffset }, guestDeadline('attaching')))
}

/** The sandbox's log gets its output, for as long as this agent lives. */
function record(sandbox: Sandbox, execId: string, attachment: GuestAttachment): void {
  const log = sandbox.log.command(execId)
  attachment.output.on('data', ({ stream, bytes }: LogChunk) => log.write(stream, bytes))
  attachment.output.once('close', () => log.end())
}

function keptId(execId: string): string {
  if (!isUuid(execId)) throw new ApiError('notFound')
  return PREFIX + execId
}

function show({ id, pid, label, exit, startedAt, endedAt, nextOffset, oldestOffset }: KeptCommand): BackgroundExec {
  return {
    exec_id: id.slice(PREFIX.length),
    pid,
    cmd: label,
    status: exit === null ? 'running' : 'exited',
    exit_code: exit === null ? null : exitCodeOf(exit),
    started_at: startedAt.toISOString(),
    ended_at: exit === null ? null : (endedAt?.toISOString() ?? null),
    output_bytes: nextOffset,
    oldest_offset: oldestOffset,
  }
}

/** Cut between two characters. */
function labelOf(cmd: string): string {
  const bytes = Buffer.from(cmd)
  if (bytes.length <= LABEL_MAX_BYTES) return cmd
  let end = LABEL_MAX_BYTES
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}
