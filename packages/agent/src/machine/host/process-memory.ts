import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type ProcessIdentity, TICKS_PER_SECOND } from '@offshoot/kit/process-identity'

/** Fields of /proc/PID/stat, counted from the state, which is the third: utime, stime, starttime. */
const [USER_TICKS, SYSTEM_TICKS, START_TICKS] = [11, 12, 19] as const

/** MiB of private memory of a process: written pages, without mapped files (`RssAnon`, proc(5)). */
export async function ownMemoryMib(pid: number): Promise<number> {
  const kib = privateKib(await readFile(`/proc/${pid}/status`, 'utf8'))
  if (kib === null) throw new Error(`no RssAnon of process ${pid}`)
  return kib / 1024
}

/** MiB of memory that a process has written and shares with no other (`Private_Dirty`, proc(5)). Takes a millisecond per 100 MiB. */
export async function unsharedMemoryMib(pid: number): Promise<number> {
  const kib = /^Private_Dirty:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
  if (kib === undefined) throw new Error(`no Private_Dirty of process ${pid}`)
  return Number(kib) / 1024
}

export interface ProcessUsage {
  /** CPU time of all its threads since it started. */
  readonly cpuSeconds: number
  /** Private memory, see {@link ownMemoryMib}. */
  readonly privateBytes: number
}

/**
 * Reads the resources that a process uses. Reads synchronously: the kernel answers both files from memory within 50 µs, and
 * an asynchronous read costs several times that in CPU, which matters because the agent samples every VM.
 * @returns `null` if the process has ended
 */
export function readProcessUsage({ pid, startTicks }: ProcessIdentity): ProcessUsage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the command in parentheses. The process chooses it, and it may contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (Number(fields[START_TICKS]) !== startTicks || fields[0] === 'Z' || fields[0] === 'X') return null
    const ticks = Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])
    const kib = privateKib(readFileSync(`/proc/${pid}/status`, 'latin1'))
    return kib === null ? null : { cpuSeconds: ticks / TICKS_PER_SECOND, privateBytes: kib * 1024 }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return null
    throw error
  }
}

/** `null` for a process that has ended, but whose parent has not collected it. */
function privateKib(status: string): number | null {
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]
  return kib === undefined ? null : Number(kib)
}
