import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** Clock ticks per second in /proc: the same on every architecture (USER_HZ, proc(5)). */
export const TICKS_PER_SECOND = 100

/**
 * Identifies a process until the next boot. A pid alone can be reused; a pid with its start time cannot. `startTicks`
 * is field 22 of /proc/PID/stat (clock ticks since boot, proc(5)).
 */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTicks: number
}

/** Returns the identity of a live process; `null` if the pid has none or is a zombie. */
export async function identifyProcess(pid: number): Promise<ProcessIdentity | null> {
  const stat = await readFile(statOf(pid), 'utf8').catch(() => null)
  return identityIn(pid, stat)
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  return isSame(await identifyProcess(identity.pid), identity)
}

/** Signals exactly this process; `false` if it has ended. Synchronous, so that the pid has no time to be reused. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  const { pid } = identity
  try {
    return isSame(identityIn(pid, readFileSync(statOf(pid), 'utf8')), identity) && process.kill(pid, signal)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ESRCH' || code === 'ENOENT') return false
    throw error
  }
}

function statOf(pid: number): string {
  return `/proc/${pid}/stat`
}

function identityIn(pid: number, stat: string | null): ProcessIdentity | null {
  if (stat === null) return null
  // The second field is the command name in parentheses, which may contain spaces and parentheses.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  return { pid, startTicks: Number(rest[18]) }
}

function isSame(found: ProcessIdentity | null, identity: ProcessIdentity): boolean {
  return found !== null && found.startTicks === identity.startTicks
}
