import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GuestMemory } from '@offshoot/guest-link/guest-memory'
import { identifyProcess, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readProcessUsage } from '../../machine/host/process-memory.ts'
import type { Sandbox } from './sandbox.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { readUsage, UsageDamaged, writeUsage, type UsageRecord } from '../../store/sandboxes/usage-file.ts'
import { UsageWatch } from './usage-watch.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const MIB = 1024 * 1024
const QUERY = { since: undefined, step: 60 }
const RECORD: UsageRecord = {
  version: 1,
  cpu_seconds: 12.5,
  network_in_bytes: 3,
  network_out_bytes: 4,
  disk_bytes: 5,
  guest_used: null,
  vm: null,
}

let root: string
let folder: string
let child: ChildProcess | undefined
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'offshoot-usage-'))
  folder = join(root, ID)
  await mkdir(folder)
})
afterEach(async () => {
  if (child !== undefined && child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  child = undefined
  await rm(root, { recursive: true, force: true })
})

/** A process that has used CPU time. Its name looks like the following fields of /proc/PID/stat. */
async function startBusy(): Promise<ProcessIdentity> {
  const code = `process.title = ') R 1 2 3 ('; while (process.cpuUsage().user < 200_000); console.log('done'); setInterval(() => {}, 1000)`
  child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  if (child.stdout === null || child.pid === undefined) throw new Error('no process')
  await once(child.stdout, 'data')
  const identity = await identifyProcess(child.pid)
  if (identity === null) throw new Error('no process')
  return identity
}

/** A `UsageWatch` with one sandbox, whose guest answers with `memory`. */
function worldOf(vm: Pick<Vm, 'process'> | null, memory: () => Promise<GuestMemory>) {
  const asked = { count: 0 }
  const link = { memory: () => ((asked.count += 1), memory()) }
  const sandbox = {
    id: ID,
    workspaceId: ID,
    manifest: { status: vm === null ? 'hibernated' : 'running', slot: 3, memory_mb: 128, layers: [] },
    vm: vm && { ...vm, disk: null, hasEnded: false, ended: new Promise(() => undefined), link: async () => link },
    leaving: new AbortController(),
    stopping: undefined,
  } as unknown as Sandbox
  const lines: string[] = []
  const watch = new UsageWatch({
    dir: { sandbox: () => folder },
    layers: {},
    network: null,
    sandboxes: new Map([[ID, sandbox]]),
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
  } as unknown as ConstructorParameters<typeof UsageWatch>[0])
  return { watch, sandbox, asked, lines }
}

async function ownProcess(): Promise<ProcessIdentity> {
  const identity = await identifyProcess(process.pid)
  if (identity === null) throw new Error('no process')
  return identity
}

const silent = () => new Promise<never>(() => undefined)

describe('the usage of a process', () => {
  it('is its CPU time and its private memory, whatever its name', async () => {
    const identity = await startBusy()
    const usage = readProcessUsage(identity)
    expect(usage?.cpuSeconds).toBeGreaterThan(0.1)
    expect(usage?.cpuSeconds).toBeLessThan(60)
    expect(usage?.privateBytes).toBeGreaterThan(MIB)
  })

  it('is null if another process has the pid, or none', { tags: ['faults'] }, async () => {
    const identity = await startBusy()
    expect(readProcessUsage({ ...identity, startTicks: identity.startTicks + 1 })).toBeNull()
    const ended = once(child as ChildProcess, 'exit')
    child?.kill('SIGKILL')
    await ended
    expect(readProcessUsage(identity)).toBeNull()
  })
})

/** A guest's memory in two consecutive answers of the agent, and how often the agent asked the guest. */
async function used(memory: () => Promise<GuestMemory>) {
  const { watch, sandbox, asked } = worldOf({ process: await ownProcess() }, memory)
  const answers = [await watch.show(sandbox, QUERY), await watch.show(sandbox, QUERY)]
  return { used: answers.map(({ now }) => now.memory_guest_used_bytes), asked: asked.count }
}

describe('the memory of a guest', () => {
  it('is the guest’s answer, which the agent reuses for a while', async () => {
    const memory = async () => ({ totalBytes: 100 * MIB, availableBytes: 60 * MIB })
    expect(await used(memory)).toEqual({ used: [40 * MIB, 40 * MIB], asked: 1 })
  })

  it.each([
    ['more than the machine has', { totalBytes: 129 * MIB, availableBytes: 1 }],
    ['more available than in total', { totalBytes: 10, availableBytes: 11 }],
    ['huge numbers', { totalBytes: 2 ** 64, availableBytes: 0 }],
  ])('is unknown if the guest reports %s', async (_what, memory) => {
    expect(await used(async () => memory)).toEqual({ used: [null, null], asked: 1 })
  })

  it('is unknown if the guest never answers; callers do not wait for it, and the agent does not ask again at once', async () => {
    expect(await used(silent)).toEqual({ used: [null, null], asked: 1 })
  })

  it('is not asked of a guest that is paused, being stopped or being deleted', async () => {
    const { watch, sandbox, asked } = worldOf({ process: await ownProcess() }, silent)
    sandbox.manifest = { ...sandbox.manifest, status: 'paused' }
    await watch.show(sandbox, QUERY)
    sandbox.manifest = { ...sandbox.manifest, status: 'running' }
    sandbox.stopping = Promise.resolve()
    await watch.show(sandbox, QUERY)
    sandbox.stopping = undefined
    sandbox.leaving.abort()
    await watch.show(sandbox, QUERY)
    expect(asked.count).toBe(0)
  })
})

describe('the record on disk', () => {
  it('answers for a sandbox without a VM', async () => {
    await writeUsage(folder, RECORD, true)
    const { watch, sandbox } = worldOf(null, silent)
    const { now, points } = await watch.show(sandbox, QUERY)
    expect(now).toMatchObject({ cpu_seconds: 12.5, memory_host_private_bytes: 0, memory_guest_used_ts: null })
    expect(points).toEqual([])
  })

  it('is written atomically, and leaves no temporary file behind', async () => {
    for (const isDurable of [true, false]) {
      await writeUsage(folder, RECORD, isDurable)
      expect(await readUsage(folder)).toEqual(RECORD)
      expect(await readdir(folder)).toEqual(['usage.json'])
    }
  })

  it('is null if none was written', async () => {
    expect(await readUsage(folder)).toBeNull()
  })

  it.each([
    ['empty', ''],
    ['truncated', JSON.stringify(RECORD).slice(0, 40)],
    ['of a newer version', JSON.stringify({ ...RECORD, version: 2 })],
    ['of another shape', JSON.stringify({ ...RECORD, cpu_seconds: -1 })],
  ])('is set aside if it is %s; the counters start at zero, and the log says so', async (_what, content) => {
    await writeFile(join(folder, 'usage.json'), content)
    const { watch, sandbox, lines } = worldOf(null, silent)
    expect((await watch.show(sandbox, QUERY)).now.cpu_seconds).toBe(0)
    expect(await readFile(join(folder, 'usage.json.damaged'), 'utf8')).toBe(content)
    expect(lines.join('')).toContain('usage.json.damaged')
    await expect(readUsage(folder)).resolves.toBeNull()
    await writeFile(join(folder, 'usage.json'), content)
    await expect(readUsage(folder)).rejects.toThrow(UsageDamaged)
  })

  it('is not overwritten if it cannot be read', async () => {
    // A folder instead of the file: reading fails, even for root.
    await mkdir(join(folder, 'usage.json'))
    const { watch, sandbox, lines } = worldOf(null, silent)
    await expect(watch.show(sandbox, QUERY)).rejects.toThrow('cannot be read')
    expect(await readdir(folder)).toEqual(['usage.json'])
    expect(lines.join('')).toContain('EISDIR')
    await rm(join(folder, 'usage.json'), { recursive: true })
    await writeUsage(folder, RECORD, false)
    expect((await watch.show(sandbox, QUERY)).now.cpu_seconds).toBe(12.5)
  })
})
