import { access, constants, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

export interface CgroupLimits {
  readonly memoryMib: number
  readonly processes: number
}

/** One hierarchy and the file that bounds a group there. */
interface Hierarchy {
  readonly folder: string
  readonly limits: readonly { readonly file: string; readonly value: (limits: CgroupLimits) => string }[]
}

const bytes = ({ memoryMib }: CgroupLimits) => String(memoryMib * 1024 * 1024)
const processes = ({ processes }: CgroupLimits) => String(processes)
const GROUP = 'offshoot'
/** A group stays busy for a moment after its last process has gone. */
const REMOVE_TRIES = 50
const REMOVE_RETRY_MS = 4

/** Memory and process limits of VMs, a group each: version 2 where the host has it, else version 1. */
export class Cgroups {
  readonly #hierarchies: readonly Hierarchy[]

  private constructor(hierarchies: readonly Hierarchy[]) {
    this.#hierarchies = hierarchies
  }

  /** `null` where this host gives us none: no root, no controllers, or read-only. */
  static async detect(root = '/sys/fs/cgroup'): Promise<Cgroups | null> {
    try {
      const isUnified = await exists(join(root, 'cgroup.controllers'))
      return new Cgroups(isUnified ? await prepareUnified(root) : await prepareSplit(root))
    } catch {
      return null
    }
  }

  async create(name: string, limits: CgroupLimits): Promise<void> {
    await Promise.all(
      this.#hierarchies.map(async (hierarchy) => {
        const folder = join(hierarchy.folder, name)
        await mkdir(folder, { recursive: true })
        for (const { file, value } of hierarchy.limits) await writeFile(join(folder, file), value(limits))
      }),
    )
  }

  async attach(name: string, pid: number): Promise<void> {
    await Promise.all(this.#hierarchies.map(({ folder }) => writeFile(join(folder, name, 'cgroup.procs'), String(pid))))
  }

  /** Removes a group whose processes have ended; one that is not there is fine. */
  async remove(name: string): Promise<void> {
    await Promise.all(this.#hierarchies.map(({ folder }) => removeGroup(join(folder, name))))
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
      folder,
      limits: [
        { file: 'memory.max', value: bytes },
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
    { folder: memory, limits: [{ file: 'memory.limit_in_bytes', value: bytes }] },
    { folder: pids, limits: [{ file: 'pids.max', value: processes }] },
  ]
}

async function removeGroup(folder: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await rmdir(folder)
      return
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return
      if (code !== 'EBUSY' || tries === REMOVE_TRIES) throw error
      await wait(REMOVE_RETRY_MS)
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
