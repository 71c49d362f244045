import { readdir, readFile, readlink } from 'node:fs/promises'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'

export interface VmProcess {
  readonly process: ProcessIdentity
  /** Its working directory. */
  readonly folder: string
  /**
   * The process outside of the jail that waits for QEMU (native/jail.c); `null`: there is no jail, or QEMU has not been
   * started yet.
   */
  readonly launcher: ProcessIdentity | null
}

/** Also the programs that start QEMU: the process may still become one. */
const PROGRAMS = /^(qemu-system-|setpriv$|with-tap$)/
/** The launcher's working directory is the VM's folder on the host. For a QEMU in a jail it is `/vm`. */
const LAUNCHER = 'jail'
/** The number of that descriptor. */
const HELD_FD = 3
const DELETED = ' (deleted)'

/**
 * Finds every running QEMU whose working directory is below `root`, recorded or not: an agent may be killed between the
 * start of a QEMU and its record.
 */
export async function findVmProcesses(root: string): Promise<VmProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const found: VmProcess[] = []
  for (const pid of pids) {
    const folder = await workingDirectory(pid)
    if (folder === null || !folder.startsWith(`${root}/`)) continue
    const name = await nameOf(pid)
    if (name !== LAUNCHER && !PROGRAMS.test(name)) continue
    const process = await identifyProcess(pid)
    if (process === null) continue
    const jailed = name === LAUNCHER ? await jailedBy(process) : null
    found.push(jailed === null ? { process, folder, launcher: null } : { process: jailed, folder, launcher: process })
  }
  return found
}

/** @returns `null` if there is none yet, or it has ended */
async function jailedBy(launcher: ProcessIdentity): Promise<ProcessIdentity | null> {
  const pid = (await childrenOf(launcher))[0] ?? (await heldBy(launcher))
  return pid === null ? null : identifyProcess(pid)
}

/** The process of the process descriptor that a zygote's launcher holds (native/jail-zygote.c); `null`: none, or it has ended. */
async function heldBy({ pid }: ProcessIdentity): Promise<number | null> {
  const about = await readFile(`/proc/${pid}/fdinfo/${HELD_FD}`, 'utf8').catch(() => '')
  const held = /^Pid:\s+(\d+)$/m.exec(about)?.[1]
  return held === undefined || held === '0' ? null : Number(held)
}

async function workingDirectory(pid: number): Promise<string | null> {
  try {
    const path = await readlink(`/proc/${pid}/cwd`)
    return path.endsWith(DELETED) ? path.slice(0, -DELETED.length) : path
  } catch {
    return null
  }
}

/** The parent process; `null` if the process has ended. */
export async function parentOf({ pid }: Pick<ProcessIdentity, 'pid'>): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const parent = /^PPid:\s+(\d+)$/m.exec(status)?.[1]
  return parent === undefined ? null : Number(parent)
}

/** The user id of a process; `null` if it has ended. */
export async function userOf({ pid }: Pick<ProcessIdentity, 'pid'>): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const user = /^Uid:\s+(\d+)/m.exec(status)?.[1]
  return user === undefined ? null : Number(user)
}

/** The running children of a process (proc_pid_children(5)). Without that file, searches all of /proc. */
export async function childrenOf({ pid }: Pick<ProcessIdentity, 'pid'>): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => null)
  if (children !== null) return children.split(' ').filter(Boolean).map(Number)
  const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const parents = await Promise.all(all.map(async (each) => parentOf({ pid: each })))
  return all.filter((_, at) => parents[at] === pid)
}

/** The root that a launcher makes for its jail, according to its command line (native/jail.c); `null` if it has ended. */
export async function jailRootOf(launcher: Pick<ProcessIdentity, 'pid'>): Promise<string | null> {
  return launcherOption(launcher, '--root')
}

/** The file with the end of the host's lease that a launcher reads, likewise; `null`: it reads none, or has ended. */
export async function leaseFileOf(launcher: Pick<ProcessIdentity, 'pid'>): Promise<string | null> {
  return launcherOption(launcher, '--lease')
}

async function launcherOption({ pid }: Pick<ProcessIdentity, 'pid'>, name: string): Promise<string | null> {
  const line = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
  const own = line.indexOf('--')
  const option = line.slice(0, own < 0 ? undefined : own).indexOf(name)
  return option < 0 ? null : (line[option + 1] ?? null)
}

async function nameOf(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim()
}

/** The pid in the innermost pid namespace of the process (`NSpid` in proc_pid_status(5)); `null` if it has ended. */
export async function pidInNamespace(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const inner = /^NSpid:\s.*?(\d+)$/m.exec(status)?.[1]
  return inner === undefined ? null : Number(inner)
}
