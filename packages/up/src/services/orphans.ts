/**
 * Finds and ends orphaned services of a killed supervisor of the same data directory. Never ends VMs. The caller must
 * hold the lock of the data directory, so that no supervisor runs.
 */
import { readdir, readFile, readlink } from 'node:fs/promises'
import { identifyProcess, isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import type { DataLayout } from '../base/data-layout.ts'
import { endProcess } from '../base/end-process.ts'
import { readRunningRecord, type ServiceName } from './running-record.ts'
import { STOP_ORDER, STOPPING } from './stopping.ts'

export async function endOrphans(layout: DataLayout): Promise<void> {
  const recorded = await readRunningRecord(layout.runningRecord)
  for (const name of STOP_ORDER) {
    const known = recorded?.services.get(name)
    const orphans = await findService(name, layout)
    if (known && (await isAlive(known)) && orphans.every((orphan) => orphan.pid !== known.pid)) orphans.push(known)
    const { signal, withinMs } = STOPPING[name]
    await Promise.all(orphans.map((orphan) => endProcess(orphan, signal, withinMs)))
  }
}

/**
 * Also finds services that were started but not recorded. A service is identified by the file or folder of DIR on its
 * command line.
 */
async function findService(name: ServiceName, layout: DataLayout): Promise<ProcessIdentity[]> {
  if (name === 'postgres') return findPostmaster(layout.postgres)
  const { agentConfig: agent, controlConfig: control, edgeConfig: edge, e2bConfig: e2b } = layout
  const config = { agent, control, edge, e2b }[name]
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => ((await hasArgument(pid, config)) ? identifyProcess(pid) : null)),
  )
  return found.filter((identity) => identity !== null)
}

async function hasArgument(pid: number, argument: string): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return commandLine.split('\0').includes(argument)
}

/**
 * Reads the pid in postmaster.pid. Trusts it only if that process works in the cluster's folder, as a postmaster does.
 */
async function findPostmaster(cluster: string): Promise<ProcessIdentity[]> {
  const pid = Number((await readFile(`${cluster}/postmaster.pid`, 'utf8').catch(() => '')).split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 0) return []
  if ((await readlink(`/proc/${pid}/cwd`).catch(() => null)) !== cluster) return []
  const identity = await identifyProcess(pid)
  return identity === null ? [] : [identity]
}
