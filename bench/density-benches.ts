import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { TICKS_PER_SECOND } from '@offshoot/kit/process-identity'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { type Figure, Samples } from './measure.ts'
import { privateMib } from './sandbox-benches.ts'

/** OFFSHOOT_BENCH_DENSITY: maximum number of idle sandboxes. */
const WANTED = Number(process.env['OFFSHOOT_BENCH_DENSITY'] ?? 200)
const AT_ONCE = 3
const CREATE_WITHIN_MS = 40_000
/** Milliseconds after the last create, for the work that each new sandbox causes once, such as the SSH probe. */
const SETTLE_MS = 5000
const IDLE_MS = 10_000

/** CPU time of a process in milliseconds. */
async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND
}

/** Available memory of the host, MiB. */
async function availableMib(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8')
  return Number(/^MemAvailable:\s+(\d+)/m.exec(text)?.[1]) / 1024
}

async function fill(offshoot: Offshoot): Promise<string[]> {
  const created: string[] = []
  const deadlineMs = performance.now() + CREATE_WITHIN_MS
  let begun = 0
  const one = async (): Promise<void> => {
    while (begun < WANTED && performance.now() < deadlineMs) {
      begun++
      created.push((await offshoot.create({ template: 'base' })).id)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  return created
}

/** Idle sandboxes: the private memory, host memory and CPU time of each. */
export async function idleDensity(offshoot: Offshoot): Promise<Record<string, Figure>> {
  const [own, taken, cpu] = [new Samples(), new Samples(), new Samples()]
  const beforeMib = await availableMib()
  const created = await fill(offshoot)
  await wait(SETTLE_MS)
  const machines = await offshoot.virtualMachines()
  const used = await Promise.all(machines.map(async ({ pid }) => cpuMs(pid)))
  await wait(IDLE_MS)
  for (const [at, { pid }] of machines.entries()) {
    cpu.add((((await cpuMs(pid)) - (used[at] ?? 0)) / IDLE_MS) * 100)
    own.add(await privateMib(pid))
  }
  taken.add((beforeMib - (await availableMib())) / created.length)
  await Promise.all(created.map(async (id) => offshoot.delete(id)))
  return {
    idle_density_private_mib: own.figure('MiB'),
    idle_density_host_mib: taken.figure('MiB'),
    idle_density_cpu: cpu.figure('% of a CPU'),
  }
}
