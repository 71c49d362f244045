import { spawn } from 'node:child_process'
import { mkdir, open, readFile, rm, type FileHandle } from 'node:fs/promises'
import { relative } from 'node:path'
import type { Duplex } from 'node:stream'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { QmpClient } from '@offshoot/qmp/client'
import type { Accelerator } from '@offshoot/contract/agent-api'
import { JAIL_PRELOAD } from '../host/jail.ts'
import { channelFolder } from './channel.ts'
import { confine, giveTap, imprison, type Confinement, type TapGiver } from './confinement.ts'
import { FIRST_FILE_FD } from './machine.ts'

const LOG_TAIL_CHARS = 2000
/** Said of every device state that is restored, and of no matter (`restoreArguments`). */
const HARMLESS = /^.*Expected vmdescription section, but got 0\n?/gm

/** How a VM's process ended; both `null` when it was not our child. */
export interface VmEnd {
  readonly exitCode: number | null
  readonly signal: string | null
}

export interface Launch {
  readonly qemu: string
  readonly args: readonly string[]
  /** Its working directory: the only place where it may write. */
  readonly folder: string
  /** Where its standard error goes; outside of its folder. */
  readonly logPath: string
  readonly confinement: Confinement
  /** What its network ends in; `null`: in QEMU itself. */
  readonly tap: TapGiver | null
  /** The bake whose files its command line names, which its jail shows it; `null` or absent: it names none. */
  readonly bake?: string | null
  /** Under `kvm` its jail has the device. */
  readonly accelerator?: Accelerator
  /** Files it inherits, from FIRST_FILE_FD on: opened by us, so that its user need not reach them. */
  readonly files: readonly InheritedFile[]
  /** A shared object to load into it, and the variables that this one reads. */
  readonly preload: { readonly path: string; readonly env: Readonly<Record<string, string>> } | null
}

/** A path alone is opened for reading. `open`: is its owner's to close. `socket`: our end of it is `LaunchedQemu.socket`. */
export type InheritedFile =
  | string
  | { readonly writable: string }
  | { readonly open: FileHandle }
  | { readonly socket: true }

/** Where one QEMU's messages are: the file has those of earlier ones, too. */
export interface QemuLog {
  readonly path: string
  /** Bytes; where its own begin. */
  readonly start: number
}

export interface LaunchedQemu {
  readonly process: ProcessIdentity
  readonly log: QemuLog
  readonly qmp: QmpClient
  readonly ended: Promise<VmEnd>
  /** Its sockets are where it cannot reach them, and it is in its control groups already. */
  readonly isJailed: boolean
  /** Our end of the socket among its files, if there is one. */
  readonly socket: Duplex | null
}

/** QEMU ended when it should have run; the message holds the last lines it wrote. */
export class QemuEnded extends Error {
  override readonly name = 'QemuEnded'
}

/**
 * Starts a QEMU that outlives us: own session, nothing of ours but our end of its first monitor and the files it is given.
 */
export async function launch(options: Launch): Promise<LaunchedQemu> {
  const { folder, logPath, confinement, preload } = options
  const isJailed = confinement.jail != null
  const opened: FileHandle[] = []
  try {
    const log = await open(logPath, 'a', 0o600)
    opened.push(log)
    const ownLog: QemuLog = { path: logPath, start: (await log.stat()).size }
    const files: (number | 'pipe')[] = []
    for (const inherited of options.files) files.push(await descriptorOf(inherited, opened))
    const reportFd = FIRST_FILE_FD + files.length
    const { program, args } = await lineOf(options, reportFd)
    const child = spawn(program, args, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log.fd, log.fd, 'pipe', ...files, ...(isJailed ? ['pipe' as const] : [])],
      env: {
        PATH: process.env['PATH'] ?? '/usr/bin:/bin',
        // Relative: the folders above ours may be closed to QEMU's user.
        ...(preload === null
          ? {}
          : { LD_PRELOAD: isJailed ? JAIL_PRELOAD : relative(folder, preload.path), ...preload.env }),
      },
    })
    const ended = Promise.withResolvers<VmEnd>()
    const started = Promise.withResolvers<void>()
    child.once('spawn', started.resolve)
    child.once('error', started.reject)
    child.once('exit', (exitCode, signal) => ended.resolve({ exitCode, signal }))
    await started.promise
    child.unref()
    // The fourth descriptor is a socket pair of which we hold one end (node documents pipes there as duplex).
    const qmp = new QmpClient(child.stdio[3] as Duplex)
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
  { qemu, args, folder, confinement, tap, bake = null, accelerator = 'tcg' }: Launch,
  reportFd: number,
) {
  const line = { program: qemu, args }
  const channel = channelFolder(folder)
  const { jail = null } = confinement
  if (jail !== null) {
    await mkdir(channel, { recursive: true, mode: 0o700 })
    return imprison({ line, jail, confinement, folder, bake, accelerator, tap: tap?.tap ?? null, reportFd })
  }
  // Of a VM before this one: whoever adopts this one would take it for a jailed one.
  await rm(channel, { recursive: true, force: true })
  const confined = confine(line, confinement)
  return tap === null ? confined : giveTap(confined, tap)
}

/** What the launcher says of QEMU's process; `undefined` when it ended without having started it. */
async function reportedPid(report: Duplex): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  let text = ''
  report.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
    // Not at the end of the stream: the child has the descriptor until it executes QEMU.
    if (text.endsWith('\n')) resolve(Number(text))
  })
  for (const event of ['error', 'end', 'close']) report.once(event, () => resolve(undefined))
  try {
    return await promise
  } finally {
    report.destroy()
  }
}

/** @param opened takes what is to be closed */
async function descriptorOf(inherited: InheritedFile, opened: FileHandle[]): Promise<number | 'pipe'> {
  if (typeof inherited === 'object' && 'socket' in inherited) return 'pipe'
  if (typeof inherited === 'object' && 'open' in inherited) return inherited.open.fd
  const file = await (typeof inherited === 'string' ? open(inherited, 'r') : open(inherited.writable, 'r+'))
  opened.push(file)
  return file.fd
}

/** Why QEMU ended, in its own words. */
export async function describeEnd(log: QemuLog, { exitCode, signal }: VmEnd): Promise<QemuEnded> {
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`
  return new QemuEnded(`QEMU ended with ${how}: ${(await lastWords(log)) || 'it said nothing'}`)
}

/** The end of what a QEMU has written so far; empty where that is nothing. */
export async function lastWords({ path, start }: QemuLog): Promise<string> {
  const log = await readFile(path).catch(() => Buffer.alloc(0))
  // A log that has grown too long is cut to nothing (`sandbox/logs/bound-logs.ts`).
  const own = log.length < start ? log : log.subarray(start)
  return own.toString('utf8').replaceAll(HARMLESS, '').slice(-LOG_TAIL_CHARS).trim()
}
