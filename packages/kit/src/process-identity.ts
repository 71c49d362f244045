import { readFile } from 'node:fs/promises'

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
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (stat === null) return null
  // The second field is the command name in parentheses, which may contain spaces and parentheses.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  return { pid, startTicks: Number(rest[18]) }
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const now = await identifyProcess(identity.pid)
  return now !== null && now.startTicks === identity.startTicks
}

/** Signals exactly this process; `false` if it has ended. */
export async function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<boolean> {
  if (!(await isAlive(identity))) return false
  try {
    return process.kill(identity.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
