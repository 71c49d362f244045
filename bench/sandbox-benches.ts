import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { Deadline } from '@offshoot/kit/deadline'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { until } from '../tests/setup/until.ts'
import { BaselineVm, readRecipe, type Recipe } from './baseline-vm.ts'
import { type Figure, rounds, Samples } from './measure.ts'

const TEMPLATE = 'base'
const BURST = 50
/** Some benches measure several figures at once: each create is followed by its delete. */
type Figures = Record<string, Figure>

export async function inSandbox<T>(offshoot: Offshoot, use: (id: string, pid: number) => Promise<T>): Promise<T> {
  const { id } = await offshoot.create({ template: TEMPLATE })
  try {
    const vm = (await offshoot.virtualMachines()).find(({ sandboxId }) => sandboxId === id)
    if (vm === undefined) throw new Error(`no VM of ${id}`)
    return await use(id, vm.pid)
  } finally {
    await offshoot.delete(id)
  }
}

export const recipeOf = async (offshoot: Offshoot): Promise<Recipe> =>
  inSandbox(offshoot, async (_, pid) => readRecipe(offshoot.dataDir, TEMPLATE, pid))

/** From POST to 201, and from DELETE to 204; floor: the same by hand. Alternately. */
export async function createAndDelete(offshoot: Offshoot, n = 60): Promise<Figures> {
  const recipe = await recipeOf(offshoot)
  const [create, del, restore, kill] = [new Samples(), new Samples(), new Samples(), new Samples()]
  for (const _round of rounds(n)) {
    const sandbox = await create.time(async () => offshoot.create({ template: TEMPLATE }))
    if (sandbox) await del.time(async () => offshoot.delete(sandbox.id))
    const baseline = await restore.time(async () => BaselineVm.restore(recipe))
    if (baseline) await kill.time(async () => baseline.kill())
  }
  return { create: create.figure('ms', restore.p50), delete: del.figure('ms', kill.p50) }
}

/**
 * A guest process that starts a small shell for each input line, waits for its end, and prints the duration in
 * nanoseconds.
 */
const SPAWNER = `
import os, sys, time
for _ in sys.stdin:
    start = time.perf_counter_ns()
    os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'true'], os.environ), 0)
    print(time.perf_counter_ns() - start, flush=True)
`

/** `cmd: "true"` over a keep-alive connection. Floor: fork and exec inside a guest, plus one message each way. */
export async function execTrue(offshoot: Offshoot, n = 300): Promise<Figures> {
  const baseline = await BaselineVm.running(await recipeOf(offshoot))
  const deadline = Deadline.after(120_000, 'floor of exec')
  const [exec, roundTrip, spawn] = [new Samples(), new Samples(), new Samples()]
  try {
    const spawner = await baseline.link.run({ argv: ['/usr/bin/python3', '-c', SPAWNER] })
    const answers = createInterface({ input: spawner.stdout })[Symbol.asyncIterator]()
    await inSandbox(offshoot, async (id) => {
      for (const _round of rounds(n)) {
        await exec.time(async () => offshoot.exec(id, 'true'))
        await roundTrip.time(async () => baseline.link.ping(deadline))
        spawner.stdin.write('\n')
        spawn.add(Number((await answers.next()).value) / 1e6)
      }
    })
  } finally {
    await baseline.kill()
  }
  return { exec_true: exec.figure('ms', roundTrip.p50 + spawn.p50) }
}

/** A new sandbox is idle once the SSH probe has succeeded. */
export async function isIdle(offshoot: Offshoot, id: string): Promise<boolean> {
  const { body } = await offshoot.request('GET', `/v1/sandboxes/${id}/events?tail=10`)
  return body.some(({ type }: { type: string }) => type === 'sandbox.ssh_ready')
}

/** Private MiB of a process: pages that no other process maps. The rest is the snapshot's page cache. */
export async function privateMib(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1])
  return (kib('Private_Clean') + kib('Private_Dirty')) / 1024
}

export async function memoryPrivate(offshoot: Offshoot, n = 10): Promise<Figures> {
  const memory = new Samples()
  const created = await Promise.all(Array.from({ length: n }, async () => offshoot.create({ template: TEMPLATE })))
  for (const { id } of created) await until(`${id} idle`, async () => isIdle(offshoot, id), 60_000)
  for (const { pid } of await offshoot.virtualMachines()) memory.add(await privateMib(pid))
  await Promise.all(created.map(async ({ id }) => offshoot.delete(id)))
  return { memory_private_mib: memory.figure('MiB') }
}

async function restoreInTurn(recipe: Recipe, count: number): Promise<BaselineVm[]> {
  const vms: BaselineVm[] = []
  for (let i = 0; i < count; i++) vms.push(await BaselineVm.restore(recipe))
  return vms
}

/** Total time of fifty concurrent creates. Floor: fifty restores by hand, two at a time. */
export async function burst(offshoot: Offshoot, n = 3): Promise<Figures> {
  const recipe = await recipeOf(offshoot)
  const [wall, byHand] = [new Samples(), new Samples()]
  let succeeded = 0
  let asked = 0
  for (const _round of rounds(n)) {
    asked += BURST
    const outcomes = await wall.time(async () =>
      Promise.allSettled(Array.from({ length: BURST }, async () => offshoot.create({ template: TEMPLATE }))),
    )
    const created = outcomes?.filter((outcome) => outcome.status === 'fulfilled').map(({ value }) => value.id) ?? []
    succeeded += created.length
    await Promise.all(created.map(async (id) => offshoot.delete(id)))

    const vms = await byHand.time(async () =>
      Promise.all([restoreInTurn(recipe, BURST / 2), restoreInTurn(recipe, BURST / 2)]),
    )
    await Promise.all(vms?.flat().map(async (vm) => vm.kill()) ?? [])
  }
  return { burst50: { ...wall.figure('ms', byHand.p50), success: succeeded / asked } }
}
