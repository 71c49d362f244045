import { readdir, readFile } from 'node:fs/promises'

/** By number (sched(7)). */
const POLICIES = ['SCHED_OTHER', 'SCHED_FIFO', 'SCHED_RR', 'SCHED_BATCH']
/** Positions in `stat` after the name (proc_pid_stat(5): fields 19 and 41). */
const NICE = 16
const POLICY = 38

/** The nice value of each thread of a process. Empty if it is gone. */
export async function nicenessOf(pid: number): Promise<number[]> {
  return (await fieldOfThreads(pid, NICE)).map(Number)
}

/** The scheduling policy of each thread of a process. Empty if it is gone. */
export async function policiesOf(pid: number): Promise<string[]> {
  return (await fieldOfThreads(pid, POLICY)).map((policy) => POLICIES[Number(policy)] ?? `policy ${policy}`)
}

async function fieldOfThreads(pid: number, at: number): Promise<string[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const stats = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8').catch(() => ''))
  return (await Promise.all(stats)).flatMap((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[at] ?? [])
}
