import { readdir, readFile } from 'node:fs/promises'

/** By number (sched(7)). */
const POLICIES = ['SCHED_OTHER', 'SCHED_FIFO', 'SCHED_RR', 'SCHED_BATCH']
/** Fields of `stat` between the name and the policy (proc_pid_stat(5)). */
const FIELDS_BEFORE = 38

/** The scheduling policy of each thread of a process. */
export async function policiesOf(pid: number): Promise<string[]> {
  const threads = await readdir(`/proc/${pid}/task`)
  return Promise.all(
    threads.map(async (thread) => {
      const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      const policy = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[FIELDS_BEFORE])
      return POLICIES[policy] ?? `policy ${policy}`
    }),
  )
}
