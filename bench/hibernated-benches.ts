import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, stat, writeFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentProcess } from '@offshoot/agent/test/agent-process'
import { startBaseAgent } from './base-agent.ts'
import { type Figure, Samples } from './measure.ts'

/** OFFSHOOT_BENCH_HIBERNATED: number of hibernated sandboxes at the agent's start. */
const MANY = Number(process.env['OFFSHOOT_BENCH_HIBERNATED'] ?? 10_000)
const REAL = 5
const PAGE_BYTES = 4096
const RUNS_HEAD_BYTES = 16
const MIB = 1024 * 1024

/** A user's typical work: dirty pages and a file. */
const WORK = 'head -c 8388608 /dev/urandom > /dev/shm/memory; head -c 1048576 /dev/urandom > /root/file; sync'

async function occupied(path: string): Promise<number> {
  const { blocks } = await stat(path)
  return blocks * 512
}

async function occupiedUnder(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true })
  return (await Promise.all(names.map(async (name) => occupied(join(folder, name))))).reduce(
    (sum, each) => sum + each,
    0,
  )
}

async function page(file: FileHandle, at: number, into: Buffer): Promise<Buffer> {
  await file.read(into, 0, PAGE_BYTES, at)
  return into
}

/** Bytes of hibernated pages that differ from the bake. */
async function differingBytes(hibernation: string, bakeMemory: string): Promise<number> {
  const runs = (await readFile(join(hibernation, 'runs'))).subarray(RUNS_HEAD_BYTES)
  const [own, bake] = [await open(join(hibernation, 'pages')), await open(bakeMemory)]
  const [left, right] = [Buffer.alloc(PAGE_BYTES), Buffer.alloc(PAGE_BYTES)]
  let bytes = 0
  let at = 0
  for (let run = 0; run < runs.length; run += 8) {
    const [first, count] = [runs.readUInt32LE(run), runs.readUInt32LE(run + 4)]
    for (let i = 0; i < count; i++, at += PAGE_BYTES) {
      const isSame = (await page(own, at, left)).equals(await page(bake, (first + i) * PAGE_BYTES, right))
      if (!isSame) bytes += PAGE_BYTES
    }
  }
  await own.close()
  await bake.close()
  return bytes
}

/** A hibernated sandbox's bytes on disk, and those bytes of its memory and disk that differ from its template. */
async function diskOf(agent: AgentProcess, id: string): Promise<{ bytes: number; needed: number }> {
  const folder = join(agent.dataDir, 'sandboxes', id)
  const { bake, layers } = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as {
    bake: string
    layers: string[]
  }
  const paths = layers.map((layer) => join(agent.dataDir, 'layers', `${layer}.qcow2`))
  const layerBytes = (await Promise.all(paths.map(occupied))).reduce((sum, each) => sum + each, 0)
  const changed = await differingBytes(join(folder, 'hibernation'), join(agent.dataDir, 'bakes', bake, 'memory'))
  return { bytes: (await occupiedUnder(folder)) + layerBytes, needed: changed + layerBytes }
}

async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** Copies a hibernated sandbox under new ids, without its memory: the part that an agent reads at its start. */
async function multiply(agent: AgentProcess, id: string, count: number): Promise<void> {
  const sandboxes = join(agent.dataDir, 'sandboxes')
  const read = async (name: string) => readFile(join(sandboxes, id, name), 'utf8')
  const [manifest, events, checkpoint] = [
    await read('manifest.json'),
    await read('events.jsonl'),
    await read('hibernation/checkpoint.json'),
  ]
  for (let i = 0; i < count; i++) {
    const own = randomUUID()
    const folder = join(sandboxes, own)
    await mkdir(join(folder, 'hibernation'), { recursive: true })
    const changed = { ...(JSON.parse(manifest) as object), id: own, home_slot: REAL + i }
    await writeFile(join(folder, 'manifest.json'), JSON.stringify(changed))
    await writeFile(join(folder, 'events.jsonl'), events.replaceAll(id, own))
    await writeFile(join(folder, 'hibernation/checkpoint.json'), checkpoint)
  }
}

/** Restarts the agent. @returns its resident MiB */
async function restart(agent: AgentProcess, start: Samples): Promise<number> {
  await agent.stop()
  await start.time(async () => agent.start())
  return residentMib(agent.pid)
}

export async function hibernatedCost(): Promise<Record<string, Figure>> {
  const [disk, needed, start, few] = [new Samples(), new Samples(), new Samples(), new Samples()]
  const { agent, release } = await startBaseAgent()
  try {
    const ids: string[] = []
    for (let i = 0; i < REAL; i++) {
      const { id } = await agent.created({}, 'base')
      await agent.sh(id, WORK)
      const { status } = await agent.act(id, 'hibernate')
      if (status !== 200) throw new Error(`hibernate answered ${status}`)
      const cost = await diskOf(agent, id)
      disk.add(cost.bytes / MIB)
      needed.add(cost.needed / MIB)
      ids.push(id)
    }
    const fewMib = await restart(agent, few)
    await agent.stop()
    await multiply(agent, ids[0] ?? '', MANY - REAL)
    const memory = new Samples()
    memory.add((await restart(agent, start)) - fewMib)
    const [manyS, fewS] = [start.p50 / 1000, few.p50 / 1000]
    const seconds = { p50: manyS, p95: manyS, p99: manyS, floor: fewS, ratio: manyS / fewS }
    return {
      hibernated_cost_disk: disk.figure('MiB', needed.p50),
      hibernated_cost_agent_mib: memory.figure('MiB'),
      start_with_10000_hibernated_s: { ...start.figure('s'), ...seconds },
    }
  } finally {
    await release()
  }
}
