/**
 * A terminal in a guest, as one caller sees it: either a private terminal, which ends with its caller, or a session, which
 * several callers may share and which keeps running when they disconnect.
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
import { accountOf, withTemplateDefaults, guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Sandbox } from '../model/sandbox.ts'

const ENVIRONMENT = { TERM: 'xterm-256color' }
/** Prefix of the ids of kept commands that are terminals. Background commands have another one (`background-watch.ts`). */
const SESSION_PREFIX = 'pty:'
/** Bytes of a session's output that a reconnecting caller gets. */
const SESSION_LOG_BYTES = 256 * 1024
/** Login shells in order of preference. */
const SHELLS = ['/bin/bash', '/bin/sh'] as const

export interface Terminal {
  /** Chunks of output, to be converted by {@link bytesOf}. */
  readonly output: Readable
  bytesOf(chunk: unknown): Buffer
  readonly input: Writable
  /** Resolves with `undefined` after {@link leave}. Rejects if the guest is gone. */
  readonly exited: Promise<GuestExit | undefined>
  resize(size: TerminalSize): void
  /** The caller has disconnected: kills a private terminal; a session keeps running. */
  leave(): void
}

/** @throws ApiError if the program cannot run, or its user or folder does not exist */
export function openTerminal(sandbox: Sandbox, asked: TerminalQuery): Promise<Terminal> {
  const query = withTemplateDefaults(sandbox, asked)
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
      // The kernel then sends SIGHUP to all other processes of the terminal.
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
    // Another caller has started the session meanwhile.
    if (!(error instanceof GuestRunError) || error.errno !== constants.errno.EEXIST) throw error
  }
  return attach()
}

/** If the guest has reached its limit of kept commands, forgets ended sessions and retries. */
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

/** Forgets ended sessions. The guest keeps their last output, but the next session of the same name is a new one. */
async function forgetEnded(link: GuestLink, isMeant: (id: string) => boolean): Promise<void> {
  const deadline = guestDeadline('list of kept terminals')
  for (const { id, exit } of await link.kept(deadline)) {
    if (exit === null || !isMeant(id)) continue
    await link.forget(id, deadline).catch((error: unknown) => {
      // Another caller has already forgotten it.
      if (!(error instanceof GuestRequestError)) throw error
    })
  }
}

/** Runs `cmd`, or the first shell that exists. Only trying tells which shells a template has. */
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

/** A shell whose argv[0] starts with a dash is a login shell and reads the profile (login(1)). */
function loginName(program: string): string {
  return `-${program.slice(program.lastIndexOf('/') + 1)}`
}
