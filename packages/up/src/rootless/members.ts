import { readdir, readFile } from 'node:fs/promises'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { hasIds, namespaceOf } from './user-namespace.ts'

/** In the environment of the process that keeps the namespaces of a data directory. Its value is the path of that directory. */
export const KEEPER_VARIABLE = 'OFFSHOOT_NAMESPACES_OF'

/** The paths by which processes of a data directory are known. */
export interface MarkedPaths {
  readonly dir: string
  /** The agent's data directory. */
  readonly agent: string
  readonly agentConfig: string
}

/** A process in the namespaces of a data directory. */
export interface Member {
  readonly process: ProcessIdentity
  /** Whether it does nothing but keep them. */
  readonly isKeeper: boolean
}

/**
 * Finds the processes that run in the user namespace of a data directory: its keeper, the agent and its helpers, and the
 * launchers of VMs (native/jail.c of the agent). Each of them keeps the namespaces.
 */
export async function findMembers({ dir, agent, agentConfig }: MarkedPaths): Promise<Member[]> {
  const own = { user: await namespaceOf('self', 'user'), net: await namespaceOf('self', 'net') }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid): Promise<Member | null> => {
      const [user, net] = await Promise.all([namespaceOf(pid, 'user'), namespaceOf(pid, 'net')])
      if (user === null || user === own.user || net === null || net === own.net) return null
      const isKeeper = (await stringsOf(pid, 'environ')).includes(`${KEEPER_VARIABLE}=${dir}`)
      const words = isKeeper ? [] : await stringsOf(pid, 'cmdline')
      const isMember = isKeeper || words.some((word) => word === agentConfig || word.startsWith(`${agent}/qemu/`))
      const process = isMember ? await identifyProcess(pid) : null
      return process !== null && (await hasIds(process)) ? { process, isKeeper } : null
    }),
  )
  return found.filter((member) => member !== null)
}

/** Processes that have this word on their command line. */
export async function findByWord(word: string): Promise<ProcessIdentity[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => ((await stringsOf(pid, 'cmdline')).includes(word) ? identifyProcess(pid) : null)),
  )
  return found.filter((identity) => identity !== null)
}

/** Strings that end in a zero byte; none if the process has ended or belongs to another user. */
async function stringsOf(pid: number, file: 'environ' | 'cmdline'): Promise<string[]> {
  return (await readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')).split('\0')
}
