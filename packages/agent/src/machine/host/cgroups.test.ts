import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CgroupLimits } from './cgroup-hierarchies.ts'
import { Cgroups } from './cgroups.ts'

/** Plain files in place of the kernel's: the agent reads and writes them. */
let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-cgroups-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const read = (path: string) => readFile(join(root, path), 'utf8')
const unifiedFile = (name: string) => read(`offshoot/agent-7/${name}`)
const cpuFile = (name: string) => read(`cpu/offshoot-agent-7/${name}`)
const capped: CgroupLimits = { memoryMib: 256, processes: 32, cpu: { weight: 300, percent: 250 } }
const uncapped: CgroupLimits = { ...capped, cpu: { weight: 100, percent: null } }

async function unified(controllers: string): Promise<Cgroups> {
  await writeFile(join(root, 'cgroup.controllers'), controllers)
  await mkdir(join(root, 'offshoot'))
  await writeFile(join(root, 'offshoot/cpu.max'), 'max 100000')
  return detected()
}

async function split(hierarchies: readonly string[]): Promise<Cgroups> {
  const files = ['memory/memory.limit_in_bytes', 'pids/cgroup.procs', 'cpu/cpu.shares', 'cpu/cpu.cfs_quota_us']
  for (const file of files.filter((name) => hierarchies.includes(name.split('/')[0] ?? ''))) {
    await mkdir(join(root, file, '..'), { recursive: true })
    await writeFile(join(root, file), '')
  }
  return detected()
}

async function detected(): Promise<Cgroups> {
  const cgroups = await Cgroups.detect('agent', root)
  if (cgroups === null) throw new Error('no control groups')
  return cgroups
}

describe('control groups of version 2', () => {
  it('limit memory, processes and CPU time of a VM, which the kernel kills as a whole', async () => {
    const cgroups = await unified('cpuset cpu io memory pids')
    expect(cgroups.cpuLimits).toBe('cgroup-v2')
    await cgroups.create(7, capped)
    expect(await unifiedFile('memory.max')).toBe(String(256 * 1024 * 1024))
    expect(await unifiedFile('memory.oom.group')).toBe('1')
    expect(await unifiedFile('pids.max')).toBe('32')
    expect(await unifiedFile('cpu.weight')).toBe('300')
    expect(await unifiedFile('cpu.max')).toBe('250000 100000')
    expect(await read('offshoot/cpu.weight')).toBe(String(25 * availableParallelism()))
    await cgroups.setCpu(7, uncapped)
    expect(await unifiedFile('cpu.weight')).toBe('100')
    expect(await unifiedFile('cpu.max')).toBe('max 100000')
  })

  it('do not limit CPU time if the host does not offer its controller', async () => {
    const cgroups = await unified('memory pids')
    expect(cgroups.cpuLimits).toBe('none')
    await cgroups.create(7, capped)
    expect(await unifiedFile('memory.max')).toBe(String(256 * 1024 * 1024))
    await expect(unifiedFile('cpu.weight')).rejects.toThrow('ENOENT')
  })
})

describe('control groups of version 1', () => {
  it('limit memory, processes and CPU time of a VM', async () => {
    const cgroups = await split(['memory', 'pids', 'cpu'])
    expect(cgroups.cpuLimits).toBe('cgroup-v1')
    await cgroups.create(7, capped)
    expect(await read('memory/offshoot/agent-7/memory.limit_in_bytes')).toBe(String(256 * 1024 * 1024))
    expect(await read('pids/offshoot/agent-7/pids.max')).toBe('32')
    expect(await cpuFile('cpu.shares')).toBe('768')
    expect(await cpuFile('cpu.cfs_quota_us')).toBe('250000')
    await cgroups.setCpu(7, uncapped)
    expect(await cpuFile('cpu.shares')).toBe('256')
    expect(await cpuFile('cpu.cfs_quota_us')).toBe('-1')
    expect(cgroups.placeOf(7)).toMatchObject({ tasks: { length: 3 } })
  })

  it('limit memory and processes if there is no hierarchy for CPU time', async () => {
    const cgroups = await split(['memory', 'pids'])
    expect(cgroups.cpuLimits).toBe('none')
    await cgroups.create(7, capped)
    expect(await read('pids/offshoot/agent-7/pids.max')).toBe('32')
  })

  it('give a VM low priority until the signal aborts', async () => {
    const cgroups = await split(['memory', 'pids', 'cpu'])
    const wanted = new AbortController()
    await cgroups.create(7, capped, wanted.signal)
    expect(await cpuFile('cpu.shares')).toBe('13')
    wanted.abort()
    expect(await cpuFile('cpu.shares')).toBe('768')
    const late = new AbortController()
    await cgroups.create(7, capped, late.signal)
    await cgroups.setCpu(7, uncapped)
    late.abort()
    expect(await cpuFile('cpu.shares')).toBe('256')
  })

  it('adopt the group of a VM from an agent that did not limit CPU time', async () => {
    const cgroups = await split(['memory', 'pids', 'cpu'])
    await mkdir(join(root, 'memory/offshoot/agent-7'))
    await mkdir(join(root, 'pids/offshoot/agent-7'))
    await cgroups.adopt(7, capped, [4711])
    expect(await cpuFile('cpu.shares')).toBe('768')
    expect(await cpuFile('cgroup.procs')).toBe('4711')
    await expect(read('memory/offshoot/agent-7/cgroup.procs')).rejects.toThrow('ENOENT')
  })
})

describe('the private memory of a VM', () => {
  it('is what its group is charged for, in both versions', async () => {
    const second = await unified('cpuset cpu io memory pids')
    await second.create(7, capped)
    await writeFile(join(root, 'offshoot/agent-7/memory.stat'), 'anon 4096\nfile 9000\nanon_thp 1\n')
    expect(second.privateBytes(7)).toBe(4096)
    await rm(join(root, 'cgroup.controllers'))
    const first = await split(['memory', 'pids'])
    await first.create(7, capped)
    await writeFile(join(root, 'memory/offshoot/agent-7/memory.stat'), 'cache 1\nrss 8192\nrss_huge 0\ntotal_rss 1\n')
    expect(first.privateBytes(7)).toBe(8192)
  })

  it('is unknown without a group', async () => {
    const cgroups = await split(['memory', 'pids'])
    expect(cgroups.privateBytes(8)).toBeNull()
  })
})

it('are absent if the host offers none', async () => {
  expect(await Cgroups.detect('agent', root)).toBeNull()
})
