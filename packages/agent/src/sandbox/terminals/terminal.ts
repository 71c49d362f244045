/**
 * A terminal in a guest, seen by one caller: its own, which ends with it, or a session, which others may share and which
 * goes on when it leaves.
 */
import { constants } from 'node:os'
import type { Writable, Readable } from 'node:stream'
import type { TerminalQuery } from '@offshoot/contract/terminal'
import type { GuestCommand } from '@offshoot/guest-link/guest-command'
import { GuestRequestError, GuestRunError } from '@offshoot/guest-link/guest-link-error'
import type { GuestExit } from '@offshoot/guest-link/guest-process'
import type { GuestLink } from '@offshoot/guest-link/link'
import type { LogChunk } from '@offshoot/guest-link/log-output'
import type { TerminalSize } from '@offshoot/guest-link/terminal-size'
import { accountOf, asTemplateHas, guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

const ENVIRONMENT = { TERM: 'xterm-256color' }
/** Ids of kept commands that are terminals; others are background commands (`background.ts`). */
const SESSION_PREFIX = 'pty:'
/** Bytes of a session's screen that a caller who comes back is shown. */
const SESSION_LOG_BYTES = 256 * 1024
/** Login shells, best first. */
const SHELLS = ['/bin/bash', '/bin/sh'] as const

export interface Terminal {
  /** Of what is shown; read on by {@link bytesOf}. */
  readonly output: Readable
  bytesOf(chunk: unknown): Buffer
  readonly input: Writable
  /** Undefined when it was left before. Rejects when the guest is gone. */
  readonly exited: Promise<GuestExit | undefined>
  resize(size: TerminalSize): void
  /** The caller is gone: its own terminal is killed, a session goes on. */
  leave(): void
}

/** @throws ApiError when the program, its user or folder cannot be */
export function openTerminal(sandbox: Sandbox, asked: TerminalQuery): Promise<Terminal> {
  const query = asTemplateHas(sandbox, asked)
  const { session } = query
  return withGuest(sandbox, (link) =>
    session === undefined ? openOwn(link, query) : openSession(link, SESSION_PREFIX + session, query),
  )
}

async function openOwn(link: GuestLink, query: TerminalQuery): Promise<Terminal> {
  const process = await runFirstShell(query, (command) => link.run(command, guestDeadline('start of a terminal')))
  return {
    output: process.stdout,
    bytesOf: (chunk) => chunk as Buffer,
    input: process.stdin,
    exited: process.exited,
    resize: (size) => process.resize(size),
    leave: () => {
      // The end of the program hangs up on whoever else has the terminal.
      process.kill('SIGKILL')
      process.stdout.destroy()
      process.stdin.destroy()
    },
  }
}

async function openSession(link: GuestLink, id: string, query: TerminalQuery): Promise<Terminal> {
  await forgetEnded(link, (kept) => kept === id)
  const attachment = await attachOrStart(link, id, query)
  attachment.resize({ rows: query.rows, cols: query.cols })
  return {
    output: attachment.output,
    bytesOf: (chunk) => (chunk as LogChunk).bytes,
    input: attachment.stdin,
    exited: attachment.exited,
    resize: (size) => attachment.resize(size),
    leave: () => {
      attachment.detach()
      attachment.output.destroy()
    },
  }
}

async function attachOrStart(link: GuestLink, id: string, query: TerminalQuery) {
  const attach = () => link.attach(id, {}, guestDeadline('attaching to a terminal'))
  try {
    return await attach()
  } catch (error) {
    if (!(error instanceof GuestRequestError) || error.errno !== constants.errno.ENOENT) throw error
  }
  try {
    await startSession(link, id, query)
  } catch (error) {
    // Somebody else has started it meanwhile.
    if (!(error instanceof GuestRunError) || error.errno !== constants.errno.EEXIST) throw error
  }
  return attach()
}

/** When the guest keeps as much as it may, the last screens of sessions that are over make room. */
async function startSession(link: GuestLink, id: string, query: TerminalQuery): Promise<void> {
  const options = { id, label: query.cmd?.slice(0, 30) ?? '', logBytes: SESSION_LOG_BYTES }
  const start = () =>
    runFirstShell(query, (command) => link.keep(command, options, guestDeadline('start of a terminal')))
  try {
    await start()
  } catch (error) {
    const { EAGAIN, ENOMEM } = constants.errno
    if (!(error instanceof GuestRunError) || (error.errno !== EAGAIN && error.errno !== ENOMEM)) throw error
    await forgetEnded(link, (other) => other.startsWith(SESSION_PREFIX))
    await start()
  }
}

/** A session whose program has ended is over, though its last screen is kept: the next of its name is a new one. */
async function forgetEnded(link: GuestLink, isMeant: (id: string) => boolean): Promise<void> {
  const deadline = guestDeadline('list of kept terminals')
  for (const { id, exit } of await link.kept(deadline)) {
    if (exit === null || !isMeant(id)) continue
    await link.forget(id, deadline).catch((error: unknown) => {
      // By another caller who came at the same time.
      if (!(error instanceof GuestRequestError)) throw error
    })
  }
}

/** Runs the first of the shells that there is; which those are, only the guest knows. */
async function runFirstShell<T>(query: TerminalQuery, run: (command: GuestCommand) => Promise<T>): Promise<T> {
  const common = { ...accountOf(query), pty: { rows: query.rows, cols: query.cols }, env: ENVIRONMENT }
  if (query.cmd !== undefined && query.cmd !== '') return run({ ...common, argv: ['/bin/sh', '-c', query.cmd] })
  const [best, other] = SHELLS
  try {
    return await run({ ...common, argv: [loginName(best)], program: best })
  } catch (error) {
    if (!(error instanceof GuestRunError) || error.errno !== constants.errno.ENOENT) throw error
    return run({ ...common, argv: [loginName(other)], program: other })
  }
}

/** A shell whose name begins with a dash reads the profile (login(1)). */
function loginName(program: string): string {
  return `-${program.slice(program.lastIndexOf('/') + 1)}`
}
