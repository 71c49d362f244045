import { existsSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { SmallDisk } from '@offshoot/agent/test/small-disk'
import type { Direction } from '../../setup/packet-loss.ts'
import type { Machine } from './network.ts'
import type { Program } from './program.ts'

const run = promisify(execFile)

/** One way in which a member fails, until it is healed. */
export interface Fault {
  readonly name: string
  /** Whether VMs of a host end, so that sandboxes which ran may have failed. */
  readonly endsMachines?: boolean
  begin(): Promise<unknown>
  /** Ends the fault, and starts what it has ended. */
  heal(): Promise<unknown>
}

/** A part of the fleet that fails by itself. */
export interface Member {
  readonly name: string
  readonly faults: readonly Fault[]
}

/** A further service that control uses. */
export interface Companion extends Member {
  /** Fields of control's configuration. */
  readonly settings: object
  ensureRunning(): Promise<void>
  /** After the faults of a round, with everything healthy again. @throws if something is wrong */
  examine?(): Promise<void>
  destroy(): Promise<void>
}

const LAST_BYTES = 16 * 1024 * 1024
const SKEW_SECONDS = 30
/** Debian's libfaketime, which changes the wall clock that one program sees. */
const LIBRARY = `/usr/lib/${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu/faketime/libfaketime.so.1`

export function networkFaults(machine: Machine): Fault[] {
  const cut = (name: string, direction: Direction): Fault => ({
    name,
    begin: () => machine.cut(direction),
    heal: () => machine.heal(),
  })
  return [cut('cut off', 'both'), cut('its packets lost', 'out'), cut('packets to it lost', 'in')]
}

export function processFaults(program: Program): Fault[] {
  const kill: Fault = { name: 'kill -9', begin: () => program.end(), heal: async () => program.start() }
  const stop: Fault = {
    name: 'stopped',
    begin: async () => program.signal('SIGSTOP'),
    heal: async () => program.signal('SIGCONT'),
  }
  return [kill, stop]
}

/** @param restart ends the program, and starts it with these variables */
export function clockFaults(restart: (env: NodeJS.ProcessEnv) => Promise<unknown>): Fault[] {
  if (!existsSync(LIBRARY)) return []
  return [SKEW_SECONDS, -SKEW_SECONDS].map((seconds) => ({
    name: `clock ${seconds > 0 ? '+' : ''}${seconds} s`,
    // Timers must not change: the clock that only counts up stays.
    begin: () =>
      restart({
        LD_PRELOAD: LIBRARY,
        FAKETIME: `${seconds > 0 ? '+' : ''}${seconds}s`,
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
      }),
    heal: () => restart({}),
  }))
}

/** The last MiB of a file system need writes, all others are only allocated. */
async function fill(disk: SmallDisk): Promise<void> {
  await disk.fill(LAST_BYTES)
  await disk.fillWhole()
}

/** @param folder where the disk is mounted */
export function diskFaults(disk: SmallDisk, folder: string): Fault[] {
  const full: Fault = { name: 'full disk', begin: () => fill(disk), heal: () => disk.empty() }
  // Writes and syncs wait until the end, as with a device whose queue hangs.
  const slow: Fault = {
    name: 'disk that hangs',
    begin: () => run('fsfreeze', ['--freeze', folder]),
    heal: () => run('fsfreeze', ['--unfreeze', folder]),
  }
  return [full, slow]
}
