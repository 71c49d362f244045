import { spawn } from 'node:child_process'
import { open, readFile, rm, type FileHandle } from 'node:fs/promises'
import { relative } from 'node:path'
import type { Duplex } from 'node:stream'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { QmpClient } from '@offshoot/qmp/client'
import type { Accelerator } from '@offshoot/contract/agent-api'
import { JAIL_PRELOAD } from '../host/jail.ts'
import { channelFolder, makeChannel } from './channel.ts'
import { confine, giveTap, imprison, type Confinement, type ProgramLine, type TapGiver } from './confinement.ts'
import { FIRST_FILE_FD } from './machine.ts'

const LOG_TAIL_CHARS = 2000
/** A warning for every restored device state, without any effect (`restoreArguments`). */
const HARMLESS = /^.*Expected vmdescription section, but got 0\n?/gm

/** How a VM's process ended; both are `null` if it was not the agent's child. */
export interface VmEnd {
  readonly exitCode: number | null
  readonly signal: string | null
}

export interface Launch {
  readonly qemu: string
  readonly args: readonly string[]
  /** Its working directory: the only place where it may write. */
  readonly folder: string
  /** The file for its standard error, outside of its folder. */
  readonly logPath: string
  readonly confinement: Confinement
  /** Its TAP; `null`: it uses QEMU's own network. */
  readonly tap: TapGiver | null
  /** The bake whose files its command line names, and which its jail contains; `null` or absent: none. */
  readonly bake?: string | null
  /** Under `kvm` its jail contains the device. */
  readonly accelerator?: Accelerator
  /** Files that it inherits, from FIRST_FILE_FD on. The agent opens them, so that QEMU's user need not reach them. */
  readonly files: readonly InheritedFile[]
  /** A shared object to load into it, and the object's variables. */
  readonly preload: { readonly path: string; readonly env: Readonly<Record<string, string>> } | null
  /** It will be a zygote. Needs a jail. */
  readonly makesChildren?: boolean | undefined
}

/** A path is opened for reading. `open`: the caller closes it. `socket`: the agent's end is `LaunchedQemu.socket`. */
export type InheritedFile =
  | string
  | { readonly writable: string }
  | { readonly open: FileHandle }
  | { readonly socket: true }

/** The messages of one QEMU, in a file that also has those of earlier ones. */
export interface QemuLog {
  readonly path: string
  /** Offset of its messages, in bytes. */
  readonly start: number
}

export interface LaunchedQemu {
  readonly process: ProcessIdentity
  readonly log: QemuLog
  readonly qmp: QmpClient
  readonly ended: Promise<VmEnd>
  /** It has a jail: it cannot reach its sockets, and is in its control groups already. */
  readonly isJailed: boolean
  /** The agent's end of the socket among its files, if there is one. */
  readonly socket: Duplex | null
}

/** QEMU ended unexpectedly. The message contains its last log lines. */
export class QemuEnded extends Error {
  override readonly name = 'QemuEnded'
}

/**
 * Starts a QEMU that outlives the agent: in its own session, with no descriptor of the agent except its monitor and the
 * given files.
 */
export async function launch(options: Launch): Promise<LaunchedQemu> {
  const { folder, logPath, confinement, preload } = options
  const isJailed = confinement.jail != null
  const env =
    preload === null
      ? {}
      : // A relative path, because QEMU's user may have no access to the folders above.
        { LD_PRELOAD: isJailed ? JAIL_PRELOAD : relative(folder, preload.path), ...preload.env }
  return startQemu({ folder, logPath, env, isJailed, files: options.files }, (reportFd) => lineOf(options, reportFd))
}

/** What a QEMU inherits, and where. */
export interface Start extends Pick<Launch, 'folder' | 'logPath' | 'files'> {
  readonly env: Readonly<Record<string, string>>
  readonly isJailed: boolean
  /** Its monitor has already been greeted: by the agent, in its zygote. */
  readonly isGreeted?: boolean
}

/** @param lineOf gets the descriptor on which a launcher must report QEMU's process id, if there is one */
export async function startQemu(
  { folder, logPath, env, isJailed, files: inherited, isGreeted }: Start,
  lineOf: (reportFd: number) => Promise<ProgramLine>,
): Promise<LaunchedQemu> {
  const opened: FileHandle[] = []
  try {
    const log = await open(logPath, 'a', 0o600)
    opened.push(log)
    const ownLog: QemuLog = { path: logPath, start: (await log.stat()).size }
    const files: (number | 'pipe')[] = []
    for (const file of inherited) files.push(await descriptorOf(file, opened))
    const reportFd = FIRST_FILE_FD + files.length
    const { program, args } = await lineOf(reportFd)
    const child = spawn(program, args, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log.fd, log.fd, 'pipe', ...files, ...(isJailed ? ['pipe' as const] : [])],
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...env },
    })
    const ended = Promise.withResolvers<VmEnd>()
    const started = Promise.withResolvers<void>()
    child.once('spawn', started.resolve)
    child.once('error', started.reject)
    child.once('exit', (exitCode, signal) => ended.resolve({ exitCode, signal }))
    await started.promise
    child.unref()
    // The fourth descriptor is one end of a socket pair; the agent has the other one (node documents pipes there as
    // duplex).
    const qmp = new QmpClient(child.stdio[3] as Duplex, { isGreeted })
    const pid = isJailed ? await reportedPid(child.stdio[reportFd] as Duplex) : child.pid
    const identity = pid === undefined ? null : await identifyProcess(pid)
    if (identity === null) throw await describeEnd(ownLog, await ended.promise)
    const socket = files.indexOf('pipe')
    return {
      process: identity,
      log: ownLog,
      qmp,
      ended: ended.promise,
      isJailed,
      socket: socket < 0 ? null : (child.stdio[FIRST_FILE_FD + socket] as Duplex),
    }
  } finally {
    for (const file of opened) await file.close()
  }
}

async function lineOf(
  { qemu, args, folder, confinement, tap, bake = null, accelerator = 'tcg', makesChildren }: Launch,
  reportFd: number,
): Promise<ProgramLine> {
  const line = { program: qemu, args }
  const { jail = null } = confinement
  if (jail !== null) {
    await makeChannel(folder)
    const place = { jail, confinement, folder, bake, accelerator, tap: tap?.tap ?? null, reportFd }
    return imprison(line, { ...place, makesChildren: makesChildren === true })
  }
  // Sockets of an earlier VM here: the next agent would take this VM for one with a jail.
  await rm(channelFolder(folder), { recursive: true, force: true })
  const confined = confine(line, confinement)
  return tap === null ? confined : giveTap(confined, tap)
}

/** The pid of QEMU, as the launcher reports it; `undefined` if the launcher ended without starting it. */
async function reportedPid(report: Duplex): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  let text = ''
  report.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
    // The end of the stream comes too late: the child has the descriptor until it executes QEMU.
    if (text.endsWith('\n')) resolve(Number(text))
  })
  for (const event of ['error', 'end', 'close']) report.once(event, () => resolve(undefined))
  try {
    return await promise
  } finally {
    report.destroy()
  }
}

/** @param opened gets the files that the caller must close */
async function descriptorOf(inherited: InheritedFile, opened: FileHandle[]): Promise<number | 'pipe'> {
  if (typeof inherited === 'object' && 'socket' in inherited) return 'pipe'
  if (typeof inherited === 'object' && 'open' in inherited) return inherited.open.fd
  const file = await (typeof inherited === 'string' ? open(inherited, 'r') : open(inherited.writable, 'r+'))
  opened.push(file)
  return file.fd
}

/** The reason for QEMU's end, from its log. */
export async function describeEnd(log: QemuLog, { exitCode, signal }: VmEnd): Promise<QemuEnded> {
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`
  return new QemuEnded(`QEMU ended with ${how}: ${(await lastWords(log)) || 'its log is empty'}`)
}

/** The last log lines of a QEMU; empty if there are none. */
export async function lastWords({ path, start }: QemuLog): Promise<string> {
  const log = await readFile(path).catch(() => Buffer.alloc(0))
  // An oversized log was truncated to zero bytes (`sandbox/logs/bound-logs.ts`).
  const own = log.length < start ? log : log.subarray(start)
  return own.toString('utf8').replaceAll(HARMLESS, '').slice(-LOG_TAIL_CHARS).trim()
}
