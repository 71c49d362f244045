import { readFile } from 'node:fs/promises'

/**
 * Names one process for as long as the host runs: a pid alone is reused, a pid with its start time is not.
 * `startTicks` is field 22 of /proc/PID/stat (clock ticks since boot, proc(5)).
 */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTicks: number
}

/** The identity of a live process, or `null` when there is none with that pid (a zombie counts as none). */
export async function identifyProcess(pid: number): Promise<ProcessIdentity | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (stat === null) return null
  // The second field is the command in parentheses and may itself hold spaces and parentheses.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  return { pid, startTicks: Number(rest[18]) }
}

export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const now = await identifyProcess(identity.pid)
  return now !== null && now.startTicks === identity.startTicks
}

/** Sends a signal to just that process; `false` when it is already gone. */
export async function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<boolean> {
  if (!(await isAlive(identity))) return false
  try {
    return process.kill(identity.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
