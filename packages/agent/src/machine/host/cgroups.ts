import { access, constants, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isPresent } from '../../store/ledger/is-present.ts'

export interface CgroupLimits {
  readonly memoryMib: number
  readonly processes: number
}

/** The groups that a process is to be in from its first instruction on, in the launcher's terms (native/jail.c). */
export type CgroupPlace =
  /** Version 1: the `tasks` file of each hierarchy. */
  | { readonly version: 1; readonly tasks: readonly string[] }
  /** Version 2: the group's folder. */
  | { readonly version: 2; readonly folder: string }

/** One hierarchy and the file that bounds a group there. */
interface Hierarchy {
  readonly version: 1 | 2
  readonly folder: string
  readonly limits: readonly { readonly file: string; readonly value: (limits: CgroupLimits) => string }[]
}

const bytes = ({ memoryMib }: CgroupLimits) => String(memoryMib * 1024 * 1024)
const processes = ({ processes }: CgroupLimits) => String(processes)
const GROUP = 'offshoot'
/** A group stays busy for a moment after its last process has gone: for long, where a large one has to give its memory back on a busy host. */
const REMOVE_MS = 10_000
const REMOVE_RETRY_MS = 4
/** Ends every process of a group and of those below it (version 2, since Linux 5.14). */
const KILL_FILE = 'cgroup.kill'

/**
 * Memory and process limits of VMs, a group each: version 2 where the host has it, else version 1. A group is its slot's:
 * whatever the VM there is called later, what it has used stays counted.
 */
export class Cgroups {
  readonly #hierarchies: readonly Hierarchy[]
  /** Agents of one host share the hierarchies. */
  readonly #prefix: string

  private constructor(hierarchies: readonly Hierarchy[], prefix: string) {
    this.#hierarchies = hierarchies
    this.#prefix = prefix
  }

  /** `null` where this host gives us none: no root, no controllers, or read-only. */
  static async detect(agentId: string, root = '/sys/fs/cgroup'): Promise<Cgroups | null> {
    try {
      const isUnified = await isPresent(join(root, 'cgroup.controllers'))
      return new Cgroups(isUnified ? await prepareUnified(root) : await prepareSplit(root), `${agentId}-`)
    } catch {
      return null
    }
  }

  /** An empty group: what still runs under the slot's user, of a VM before, is ended. @throws Error when it does not end */
  async create(slot: number, limits: CgroupLimits): Promise<void> {
    await Promise.all(
      this.#hierarchies.map(async (hierarchy) => {
        const folder = join(hierarchy.folder, this.#nameOf(slot))
        if ((await mkdir(folder, { recursive: true })) === undefined) await endMembers(folder)
        for (const { file, value } of hierarchy.limits) await writeFile(join(folder, file), value(limits))
      }),
    )
  }

  placeOf(slot: number): CgroupPlace {
    const folders = this.#hierarchies.map(({ folder }) => join(folder, this.#nameOf(slot)))
    const [unified] = this.#hierarchies
    if (unified?.version === 2) return { version: 2, folder: folders[0] ?? '' }
    return { version: 1, tasks: folders.map((folder) => join(folder, 'tasks')) }
  }

  /** Moves a process that runs already: its VM was started without a jail. */
  async attach(slot: number, pid: number): Promise<void> {
    const files = this.#hierarchies.map(({ folder }) => join(folder, this.#nameOf(slot), 'cgroup.procs'))
    await Promise.all(files.map((file) => writeFile(file, String(pid))))
  }

  /** Ends what is left in a group and removes it; one that is not there is fine. @throws Error when something does not end */
  async remove(slot: number): Promise<void> {
    await Promise.all(this.#hierarchies.map(({ folder }) => removeGroup(join(folder, this.#nameOf(slot)))))
  }

  /** Removes the groups of every other slot of this agent, but for those in which something still runs. */
  async removeAllBut(isTaken: (slot: number) => boolean): Promise<void> {
    for (const { folder } of this.#hierarchies) {
      for (const name of await readdir(folder)) {
        if (!name.startsWith(this.#prefix) || isTaken(Number(name.slice(this.#prefix.length)))) continue
        await rmdir(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EBUSY' && error.code !== 'ENOENT') throw error
        })
      }
    }
  }

  #nameOf(slot: number): string {
    return `${this.#prefix}${slot}`
  }
}

async function prepareUnified(root: string): Promise<Hierarchy[]> {
  const controllers = (await readFile(join(root, 'cgroup.controllers'), 'utf8')).trim().split(' ')
  if (!controllers.includes('memory') || !controllers.includes('pids')) throw new Error('no memory or pids controller')
  const folder = join(root, GROUP)
  await writeFile(join(root, 'cgroup.subtree_control'), '+memory +pids')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'cgroup.subtree_control'), '+memory +pids')
  return [
    {
      version: 2,
      folder,
      limits: [
        { file: 'memory.max', value: bytes },
        // Half of a VM is of no use: without its memory image's process, or one of its threads, it would stand still.
        { file: 'memory.oom.group', value: () => '1' },
        { file: 'pids.max', value: processes },
      ],
    },
  ]
}

async function prepareSplit(root: string): Promise<Hierarchy[]> {
  const memory = join(root, 'memory', GROUP)
  const pids = join(root, 'pids', GROUP)
  await access(join(root, 'memory', 'memory.limit_in_bytes'))
  await access(join(root, 'pids', 'cgroup.procs'))
  await mkdir(memory, { recursive: true })
  await mkdir(pids, { recursive: true })
  // Root may have made them for another agent of this host.
  for (const folder of [memory, pids]) await access(folder, constants.W_OK)
  return [
    { version: 1, folder: memory, limits: [{ file: 'memory.limit_in_bytes', value: bytes }] },
    { version: 1, folder: pids, limits: [{ file: 'pids.max', value: processes }] },
  ]
}

/** Kills what is in the group until it can be removed: what forks meanwhile is met by the next look. */
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

/** How many processes there were. */
export async function killMembers(folder: string): Promise<number> {
  const members = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENODEV') return ''
    throw error
  })
  const pids = members.split('\n').filter(Boolean).map(Number)
  if (pids.length === 0) return 0
  // Older kernels have no such file: each process is killed then. 0 stands for one of another pid namespace, which is not ours to kill.
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
