import { access, constants, mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

export interface CgroupLimits {
  readonly memoryMib: number
  readonly processes: number
  readonly cpu: CpuShare
}

/** The CPU time of a group. */
export interface CpuShare {
  /** Weight against other groups and processes if CPU time is scarce. 400 is the weight of one process. */
  readonly weight: number
  /** Maximum percent of one CPU; `null`: no cap. */
  readonly percent: number | null
}

/** A file of a group, and the value to write into it. */
export interface LimitFile {
  readonly file: string
  readonly value: (limits: CgroupLimits) => string
  /** The value to write instead if the kernel refuses the first one (EINVAL). */
  readonly otherwise?: string
}

/** One hierarchy, and the files that limit a group in it. */
export interface Hierarchy {
  readonly version: 1 | 2
  readonly folder: string
  /** Prefix of the group's name, in a folder that other programs use as well. */
  readonly prefix: string
  readonly limits: readonly LimitFile[]
  /** The files for CPU time, which change while a VM runs. */
  readonly cpu: readonly LimitFile[]
  /** The file for the weight, one of those. */
  readonly weight: LimitFile | null
}

/** The folder with the groups of all agents. */
const GROUP = 'offshoot'
/** The period of a CPU cap, in microseconds. */
const PERIOD_US = 100_000
/**
 * `cpu.shares` of version 1 for the weight 100. A process has 1024, so the host's services answer while guests compute
 * (docs/neighbours.md).
 */
const SHARES_OF_100 = 256

const memoryBytes = ({ memoryMib }: CgroupLimits) => String(memoryMib * 1024 * 1024)
const processes = ({ processes }: CgroupLimits) => String(processes)
const quotaUs = (percent: number) => Math.max(1000, Math.round((percent * PERIOD_US) / 100))
const within = (value: number, least: number, most: number) =>
  String(Math.min(most, Math.max(least, Math.round(value))))

const WEIGHT: LimitFile = { file: 'cpu.weight', value: ({ cpu }) => within(cpu.weight, 1, 10_000) }
const MAX: LimitFile = {
  file: 'cpu.max',
  value: ({ cpu }) => `${cpu.percent === null ? 'max' : quotaUs(cpu.percent)} ${PERIOD_US}`,
}
const SHARES: LimitFile = {
  file: 'cpu.shares',
  value: ({ cpu }) => within((cpu.weight * SHARES_OF_100) / 100, 2, 262_144),
}
const QUOTA: LimitFile = {
  file: 'cpu.cfs_quota_us',
  value: ({ cpu }) => String(cpu.percent === null ? -1 : quotaUs(cpu.percent)),
  // Inside a container with a lower quota, that quota limits the VM already.
  otherwise: '-1',
}

/** Version 2 if the host has it, otherwise version 1. @throws Error if the host offers no groups for memory and processes */
export async function prepareHierarchies(root: string): Promise<Hierarchy[]> {
  return (await canUse(join(root, 'cgroup.controllers'), constants.F_OK)) ? prepareUnified(root) : prepareSplit(root)
}

async function prepareUnified(root: string): Promise<Hierarchy[]> {
  const controllers = (await readFile(join(root, 'cgroup.controllers'), 'utf8')).trim().split(' ')
  if (!controllers.includes('memory') || !controllers.includes('pids')) throw new Error('no memory or pids controller')
  const folder = join(root, GROUP)
  await writeFile(join(root, 'cgroup.subtree_control'), '+memory +pids')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'cgroup.subtree_control'), '+memory +pids')
  const cpu = controllers.includes('cpu') ? await prepareUnifiedCpu(root, folder) : []
  return [
    {
      version: 2,
      folder,
      prefix: '',
      limits: [
        { file: 'memory.max', value: memoryBytes },
        // Kill the whole VM when memory runs out: without the process of its memory image, or one of its threads, it would
        // hang.
        { file: 'memory.oom.group', value: () => '1' },
        { file: 'pids.max', value: processes },
      ],
      cpu,
      weight: cpu[0] ?? null,
    },
  ]
}

/** Separate from the other controllers, because the kernel refuses this one if a group contains a real-time process. */
async function prepareUnifiedCpu(root: string, folder: string): Promise<LimitFile[]> {
  try {
    await writeFile(join(root, 'cgroup.subtree_control'), '+cpu')
    await writeFile(join(folder, 'cgroup.subtree_control'), '+cpu')
    // The weight of all VMs together against the host's other groups, of which each has 100 by default: neither side starves.
    const all = { memoryMib: 0, processes: 0, cpu: { weight: 25 * availableParallelism(), percent: null } }
    await writeFile(join(folder, WEIGHT.file), WEIGHT.value(all))
    return (await canUse(join(folder, MAX.file), constants.W_OK)) ? [WEIGHT, MAX] : [WEIGHT]
  } catch {
    return []
  }
}

async function prepareSplit(root: string): Promise<Hierarchy[]> {
  const memory = join(root, 'memory', GROUP)
  const pids = join(root, 'pids', GROUP)
  await access(join(root, 'memory', 'memory.limit_in_bytes'))
  await access(join(root, 'pids', 'cgroup.procs'))
  await mkdir(memory, { recursive: true })
  await mkdir(pids, { recursive: true })
  // They may exist already, for another agent of this host.
  for (const folder of [memory, pids]) await access(folder, constants.W_OK)
  const none = { version: 1, prefix: '', cpu: [], weight: null } as const
  return [
    { ...none, folder: memory, limits: [{ file: 'memory.limit_in_bytes', value: memoryBytes }] },
    { ...none, folder: pids, limits: [{ file: 'pids.max', value: processes }] },
    ...(await splitCpu(join(root, 'cpu'))),
  ]
}

/**
 * VMs have no common parent group: all of them together would have the weight of one.
 */
async function splitCpu(folder: string): Promise<Hierarchy[]> {
  if (!(await canUse(folder, constants.W_OK)) || !(await canUse(join(folder, SHARES.file), constants.W_OK))) return []
  const hasQuota = await canUse(join(folder, QUOTA.file), constants.F_OK)
  const cpu = hasQuota ? [SHARES, QUOTA] : [SHARES]
  return [{ version: 1, folder, prefix: `${GROUP}-`, limits: [], cpu, weight: SHARES }]
}

async function canUse(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}
