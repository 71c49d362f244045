import { spawn } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import type { Duplex } from 'node:stream'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { QmpClient } from '@offshoot/qmp/client'
import { confine, type Confinement } from './confinement.ts'

const LOG_TAIL_CHARS = 2000

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
  /** As given in `-object …,mem-path=`: what the preload object recognises. `null` while baking. */
  readonly memoryPath: string | null
  /** Device state to start from. */
  readonly statePath: string | null
}

export interface LaunchedQemu {
  readonly process: ProcessIdentity
  readonly qmp: QmpClient
  readonly ended: Promise<VmEnd>
}

/** QEMU ended when it should have run; the message holds the last lines it wrote. */
export class QemuEnded extends Error {
  override readonly name = 'QemuEnded'
}

/**
 * Starts a QEMU that outlives us: own session, nothing of ours but two descriptors.
 * One is our end of its first monitor, the other its device state, opened by us so that its user need not reach it.
 */
export async function launch(options: Launch): Promise<LaunchedQemu> {
  const { folder, logPath, confinement, memoryPath, statePath } = options
  const log = await open(logPath, 'a', 0o600)
  const state = statePath === null ? null : await open(statePath, 'r')
  try {
    const { program, args } = confine({ program: options.qemu, args: options.args }, confinement)
    const child = spawn(program, args, {
      cwd: folder,
      detached: true,
      stdio: ['ignore', log.fd, log.fd, 'pipe', state?.fd ?? 'ignore'],
      env: {
        PATH: process.env['PATH'] ?? '/usr/bin:/bin',
        // Relative: the folders above ours may be closed to QEMU's user.
        ...(confinement.preload !== null && memoryPath !== null
          ? { LD_PRELOAD: relative(folder, confinement.preload), MEM_RO: memoryPath }
          : {}),
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
    const identity = child.pid === undefined ? null : await identifyProcess(child.pid)
    if (identity === null) throw await describeEnd(logPath, await ended.promise)
    return { process: identity, qmp, ended: ended.promise }
  } finally {
    await log.close()
    await state?.close()
  }
}

/** Why QEMU ended, in its own words. */
export async function describeEnd(logPath: string, { exitCode, signal }: VmEnd): Promise<QemuEnded> {
  const log = await readFile(logPath, 'utf8').catch(() => '')
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`
  return new QemuEnded(`QEMU ended with ${how}: ${log.slice(-LOG_TAIL_CHARS).trim()}`)
}
