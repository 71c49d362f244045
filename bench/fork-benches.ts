import type { Fork, ForkTree } from '@offshoot/contract/fork'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { BaselineFork } from './baseline-fork.ts'
import { BaselineVm } from './baseline-vm.ts'
import { type Figure, rounds, Samples } from './measure.ts'
import { inSandbox, privateMib, recipeOf } from './sandbox-benches.ts'

type Figures = Record<string, Figure>

/**
 * A guest process that repeatedly sleeps a millisecond and reads the wall clock, because other clocks stop with the
 * guest. A file asks it for its longest gap since the last query; it answers in another file.
 */
const TICKER = `
import os, time
last = time.time_ns(); worst = 0
while True:
    time.sleep(0.001)
    now = time.time_ns(); worst = max(worst, now - last); last = now
    if os.path.exists('/tmp/ask'):
        os.remove('/tmp/ask')
        open('/tmp/gap.new', 'w').write(str(worst)); os.rename('/tmp/gap.new', '/tmp/gap'); worst = 0
`

/** Longest gap in milliseconds since the last query. */
async function worstGap(offshoot: Offshoot, id: string): Promise<number> {
  const wait = 'rm -f /tmp/gap; touch /tmp/ask; while ! test -e /tmp/gap; do sleep 0.01; done; cat /tmp/gap'
  return Number((await offshoot.exec(id, wait)).stdout) / 1e6
}

export async function post<Body>(offshoot: Offshoot, path: string, status: number, body: object = {}): Promise<Body> {
  const answer = await offshoot.request('POST', path, { body })
  if (answer.status !== status) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
  return answer.body as Body
}

/**
 * From the POST to the 201 with a child that responds. Floor: a fork by hand. Each of a guest that was just restored.
 */
export async function fork(offshoot: Offshoot, n = 20): Promise<Figures> {
  const recipe = await recipeOf(offshoot)
  const [forked, pause, baseline, baselinePause] = [new Samples(), new Samples(), new Samples(), new Samples()]
  for (const _round of rounds(n)) {
    await inSandbox(offshoot, async (id) => {
      await offshoot.exec(id, `python3 -c "${TICKER}" >/dev/null 2>&1 &`)
      await worstGap(offshoot, id)
      const child = await forked.time(async () => post<Fork>(offshoot, `/v1/sandboxes/${id}/fork`, 201))
      pause.add(await worstGap(offshoot, id))
      if (child) await offshoot.delete(child.id)
    })
    const parent = await BaselineVm.running(recipe)
    const byHand = await BaselineFork.of(recipe, parent)
    const made = await baseline.time(async () => byHand.fork())
    if (made) baselinePause.add(made.pausedMs)
    byHand.close()
    for (const vm of [made?.child, parent]) await vm?.kill()
  }
  return { fork: forked.figure('ms', baseline.p50), fork_parent_pause_ms: pause.figure('ms', baselinePause.p50) }
}

/** Each lifecycle operation, from its POST to the answer. */
export async function lifecycle(offshoot: Offshoot, n = 20): Promise<Figures> {
  const samples = new Map<string, Samples>()
  await inSandbox(offshoot, async (id) => {
    for (const _round of rounds(n)) {
      for (const change of ['pause', 'resume', 'hibernate', 'wake']) {
        const times = samples.get(change) ?? new Samples()
        samples.set(change, times)
        await times.time(async () => post(offshoot, `/v1/sandboxes/${id}/${change}`, 200))
      }
      await offshoot.exec(id, 'true')
    }
  })
  return Object.fromEntries([...samples].map(([name, times]) => [name, times.figure('ms')]))
}

export async function snapshot(offshoot: Offshoot, n = 20): Promise<Figures> {
  const taken = new Samples()
  await inSandbox(offshoot, async (id) => {
    for (const _round of rounds(n)) {
      const made = await taken.time(async () => post<{ id: string }>(offshoot, `/v1/sandboxes/${id}/snapshots`, 201))
      if (made) await offshoot.request('DELETE', `/v1/snapshots/${made.id}`)
    }
  })
  return { snapshot: taken.figure('ms') }
}

/** Sixteen children of one parent: the time from the POST to the answer, and the private memory of each child. */
export async function forkTree(
  offshoot: Offshoot,
  n = 5,
): Promise<{ readonly fork_tree_16: Figure; readonly fork_tree_16_private_mib: Figure }> {
  const [wall, memory] = [new Samples(), new Samples()]
  await inSandbox(offshoot, async (id) => {
    for (const _round of rounds(n)) {
      const path = `/v1/sandboxes/${id}/fork-tree`
      const tree = await wall.time(async () => post<ForkTree>(offshoot, path, 201, { count: 16 }))
      const ids = new Set(tree?.children.map((child) => child.id))
      for (const { pid, sandboxId } of await offshoot.virtualMachines()) {
        if (ids.has(sandboxId)) memory.add(await privateMib(pid))
      }
      await Promise.all([...ids].map(async (child) => offshoot.delete(child)))
    }
  })
  return { fork_tree_16: wall.figure('ms'), fork_tree_16_private_mib: memory.figure('MiB') }
}
