import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { CpuLimits } from '@offshoot/contract/agent-api'
import {
  type CgroupLimits,
  type CpuShare,
  type Hierarchy,
  type LimitFile,
  prepareHierarchies,
} from './cgroup-hierarchies.ts'

/** The groups that a process joins before its first instruction, as options of the launcher (native/jail.c). */
export type CgroupPlace =
  /** Version 1: the `tasks` file of each hierarchy. */
  | { readonly version: 1; readonly tasks: readonly string[] }
  /** Version 2: the group's folder. */
  | { readonly version: 2; readonly folder: string }

/**
 * Milliseconds for which a group may stay busy after its last process has ended: long on a busy host, where the kernel
 * frees the memory of a large group.
 */
const REMOVE_MS = 10_000
const REMOVE_RETRY_MS = 4
/** Kills every process of a group and of the groups below it (version 2, since Linux 5.14). */
const KILL_FILE = 'cgroup.kill'

/** Weight of a VM with low priority: about that of a process with nice 19. */
const GIVING_WAY = 5

/**
 * Limits memory, processes and CPU time of VMs, with one control group per VM. Uses version 2 if the host has it, otherwise
 * version 1. A group belongs to a slot, whatever sandbox the VM in it belongs to.
 */
export class Cgroups {
  readonly #hierarchies: readonly Hierarchy[]
  /** Distinguishes the agents of one host, which share the hierarchies. */
  readonly #agent: string
  /** By slot: cancels the wait for the end of its VM's low priority. */
  readonly #givingWay = new Map<number, () => void>()
  /** By slot: the CPU time that its group has. */
  readonly #shares = new Map<number, CpuShare>()

  private constructor(hierarchies: readonly Hierarchy[], agent: string) {
    this.#hierarchies = hierarchies
    this.#agent = agent
  }

  /** @returns `null` if this host offers none: the agent is not root, or controllers are missing or read-only */
  static async detect(agentId: string, root = '/sys/fs/cgroup'): Promise<Cgroups | null> {
    try {
      return new Cgroups(await prepareHierarchies(root), `${agentId}-`)
    } catch {
      return null
    }
  }

  /** Which groups limit CPU time, if any. */
  get cpuLimits(): CpuLimits {
    const bounded = this.#hierarchies.find(({ cpu }) => cpu.length > 0)
    return bounded === undefined ? 'none' : `cgroup-v${bounded.version}`
  }

  /**
   * Creates an empty group. Kills processes of an earlier VM in it.
   * @param until the VM has low priority until this aborts
   * @throws Error if a process does not end
   */
  async create(slot: number, limits: CgroupLimits, until?: AbortSignal): Promise<void> {
    const { cpu } = limits
    const first = until === undefined || until.aborted ? limits : { ...limits, cpu: { ...cpu, weight: GIVING_WAY } }
    this.#endGivingWay(slot)
    await Promise.all(
      this.#hierarchies.map(async (hierarchy) => {
        const folder = this.#folderOf(hierarchy, slot)
        if ((await mkdir(folder, { recursive: true })) === undefined) await endMembers(folder)
        await writeLimits(folder, [...hierarchy.limits, ...hierarchy.cpu], first)
      }),
    )
    this.#shares.set(slot, first.cpu)
    if (first === limits || until === undefined) return
    const setWeight = () => {
      this.#givingWay.delete(slot)
      this.#shares.set(slot, cpu)
      this.#weighNow(slot, limits)
    }
    if (until.aborted) return setWeight()
    until.addEventListener('abort', setWeight, { once: true })
    this.#givingWay.set(slot, () => until.removeEventListener('abort', setWeight))
  }

  /** Changes the CPU limits of a running VM. */
  async setCpu(slot: number, limits: CgroupLimits): Promise<void> {
    this.#endGivingWay(slot)
    if (isDeepStrictEqual(this.#shares.get(slot), limits.cpu)) return
    this.#shares.set(slot, limits.cpu)
    await Promise.all(
      this.#hierarchies.map((hierarchy) => writeLimits(this.#folderOf(hierarchy, slot), hierarchy.cpu, limits)),
    )
  }

  /** Adopts the group of a VM that an earlier agent started. That agent may have used fewer hierarchies. */
  async adopt(slot: number, limits: CgroupLimits, pids: readonly number[]): Promise<void> {
    this.#shares.set(slot, limits.cpu)
    for (const hierarchy of this.#hierarchies) {
      const folder = this.#folderOf(hierarchy, slot)
      const isMissing = (await mkdir(folder, { recursive: true })) !== undefined
      await writeLimits(folder, [...(isMissing ? hierarchy.limits : []), ...hierarchy.cpu], limits)
      if (isMissing) for (const pid of pids) await writeFile(join(folder, 'cgroup.procs'), String(pid))
    }
  }

  placeOf(slot: number): CgroupPlace {
    const folders = this.#hierarchies.map((hierarchy) => this.#folderOf(hierarchy, slot))
    const [unified] = this.#hierarchies
    if (unified?.version === 2) return { version: 2, folder: folders[0] ?? '' }
    return { version: 1, tasks: folders.map((folder) => join(folder, 'tasks')) }
  }

  /**
   * Bytes that the group's processes have written to their own memory and that are charged to it. The zygote is charged
   * for memory that a copy shares with it. Reads synchronously, like `readProcessUsage`.
   * @returns `null` if the group is gone
   */
  privateBytes(slot: number): number | null {
    const memory = this.#hierarchies.find(({ limits }) => limits.some(({ file }) => file.startsWith('memory.')))
    if (memory === undefined) return null
    try {
      const stat = readFileSync(join(this.#folderOf(memory, slot), 'memory.stat'), 'latin1')
      const bytes = /^(?:anon|rss) (\d+)$/m.exec(stat)?.[1]
      return bytes === undefined ? null : Number(bytes)
    } catch (error) {
      if (isGone(error)) return null
      throw error
    }
  }

  /** Moves a running process into its group: its VM was started without a jail. */
  async attach(slot: number, pid: number): Promise<void> {
    const files = this.#hierarchies.map((hierarchy) => join(this.#folderOf(hierarchy, slot), 'cgroup.procs'))
    await Promise.all(files.map((file) => writeFile(file, String(pid))))
  }

  /** Kills the processes in a group and removes it. No effect if it does not exist. @throws Error if a process does not end */
  async remove(slot: number): Promise<void> {
    this.#endGivingWay(slot)
    this.#shares.delete(slot)
    await Promise.all(this.#hierarchies.map((hierarchy) => removeGroup(this.#folderOf(hierarchy, slot))))
  }

  /** Removes the groups of all other slots of this agent, except those that still have processes. */
  async removeAllBut(isTaken: (slot: number) => boolean): Promise<void> {
    for (const { folder, prefix } of this.#hierarchies) {
      const own = `${prefix}${this.#agent}`
      for (const name of await readdir(folder)) {
        if (!name.startsWith(own) || isTaken(Number(name.slice(own.length)))) continue
        await rmdir(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EBUSY' && error.code !== 'ENOENT') throw error
        })
      }
    }
  }

  #folderOf({ folder, prefix }: Hierarchy, slot: number): string {
    return join(folder, `${prefix}${this.#agent}${slot}`)
  }

  #endGivingWay(slot: number): void {
    this.#givingWay.get(slot)?.()
    this.#givingWay.delete(slot)
  }

  /** Synchronous, because the code that aborts the signal waits for the normal priority. */
  #weighNow(slot: number, limits: CgroupLimits): void {
    for (const hierarchy of this.#hierarchies) {
      if (hierarchy.weight === null) continue
      const { file, value } = hierarchy.weight
      try {
        writeFileSync(join(this.#folderOf(hierarchy, slot), file), value(limits), { flag: 'r+' })
      } catch (error) {
        // The VM has ended, and its group was removed.
        if (!isGone(error)) throw error
      }
    }
  }
}

async function writeLimits(folder: string, files: readonly LimitFile[], limits: CgroupLimits): Promise<void> {
  for (const { file, value, otherwise } of files) {
    const path = join(folder, file)
    await writeFile(path, value(limits)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EINVAL' || otherwise === undefined) throw error
      return writeFile(path, otherwise)
    })
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENODEV'
}

/** Kills processes until the group can be removed. The next round kills processes that were forked meanwhile. */
export async function removeGroup(folder: string): Promise<void> {
  const endsAtMs = performance.now() + REMOVE_MS
  for (;;) {
    try {
      await rmdir(folder)
      return
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return
      if (code !== 'EBUSY' || performance.now() > endsAtMs) throw error
      await killMembers(folder)
      await wait(REMOVE_RETRY_MS)
    }
  }
}

async function endMembers(folder: string): Promise<void> {
  const endsAtMs = performance.now() + REMOVE_MS
  while ((await killMembers(folder)) > 0) {
    if (performance.now() > endsAtMs) throw new Error(`processes in ${folder} do not end`)
    await wait(REMOVE_RETRY_MS)
  }
}

/** @returns the number of processes */
export async function killMembers(folder: string): Promise<number> {
  const members = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (isGone(error)) return ''
    throw error
  })
  const pids = members.split('\n').filter(Boolean).map(Number)
  if (pids.length === 0) return 0
  // Without that file, on older kernels, the agent kills each process. 0 stands for a process of another pid namespace,
  // which the agent must not kill.
  const isKilled = await writeFile(join(folder, KILL_FILE), '1', { flag: 'r+' }).then(
    () => true,
    () => false,
  )
  if (!isKilled) for (const pid of pids.filter((each) => each > 0)) kill(pid)
  return pids.length
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
