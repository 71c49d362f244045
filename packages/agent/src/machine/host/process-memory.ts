import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { ProcessIdentity } from '@offshoot/kit/process-identity'

/** Clock ticks in a second, as /proc counts CPU time: the same on every architecture (USER_HZ, proc(5)). */
const TICKS_PER_SECOND = 100
/** Fields of /proc/PID/stat, counted from the state, which is the third: utime, stime, starttime. */
const [USER_TICKS, SYSTEM_TICKS, START_TICKS] = [11, 12, 19] as const

/** MiB that a process has for itself alone: what it wrote, not what it maps (`RssAnon`, proc(5)). */
export async function ownMemoryMib(pid: number): Promise<number> {
  const kib = privateKib(await readFile(`/proc/${pid}/status`, 'utf8'))
  if (kib === null) throw new Error(`no RssAnon of process ${pid}`)
  return kib / 1024
}

export interface ProcessUsage {
  /** CPU time of all its threads since it started. */
  readonly cpuSeconds: number
  /** As {@link ownMemoryMib}. */
  readonly privateBytes: number
}

/**
 * What a process uses. Reads synchronously: the kernel answers both files from memory within 50 µs, and an asynchronous
 * read costs several times that in CPU, which counts where every VM of a host is sampled.
 * @returns `null` when there is no such process any more
 */
export function readProcessUsage({ pid, startTicks }: ProcessIdentity): ProcessUsage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The second field is the command in parentheses, which the process chooses, spaces and parentheses too.
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

/** `null` for a process that has ended and still has a parent to tell. */
function privateKib(status: string): number | null {
  const kib = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]
  return kib === undefined ? null : Number(kib)
}
