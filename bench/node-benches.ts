import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Semaphore } from '@offshoot/kit/semaphore'
import type { Offshoot } from '../tests/setup/offshoot.ts'
import { BaselineVm, type Recipe } from './baseline-vm.ts'
import { firstOutput, ownStream } from './first-output.ts'
import { type Figure, isFullRun, rounds, Samples } from './measure.ts'
import { recipeOf } from './sandbox-benches.ts'

type Figures = Record<string, Figure>

const TEMPLATE = 'base'
const COMMAND = 'node -v'
const STAGGER_MS = 200
/** Sandboxes of each bench. A full run has no time for all. */
const COUNT = Number(process.env['OFFSHOOT_BENCH_NODE_V'] ?? (isFullRun ? 20 : 100))
/** Restores by hand at the same time. */
const BY_HAND_AT_ONCE = 2

/** One measured attempt. @returns a function that removes the sandbox */
type Attempt = (samples: Samples) => Promise<() => Promise<void>>

/** From the POST of a sandbox to the first output of `node -v`. Floor: a restore by hand. One after the other. */
export async function nodeSequential(offshoot: Offshoot, n = COUNT): Promise<Figures> {
  const [samples, floor] = [new Samples(), new Samples()]
  const [own, hand] = [throughApi(offshoot), byHand(await recipeOf(offshoot))]
  for (const _round of rounds(n, 120_000)) {
    await (
      await own(samples)
    )()
    await (
      await hand(floor)
    )()
  }
  return { node_v_sequential: samples.figure('ms', floor.p50) }
}

/** The same with a start every 200 ms, whether or not the earlier ones have ended. */
export async function nodeStaggered(offshoot: Offshoot, n = COUNT): Promise<Figures> {
  const hand = byHand(await recipeOf(offshoot))
  const own = await launch(throughApi(offshoot), n, STAGGER_MS)
  const floor = await launch(hand, n, STAGGER_MS)
  return { node_v_staggered: own.samples.figure('ms', floor.samples.p50) }
}

/**
 * The same with all starts at once, and the time until the last output.
 *
 * @param restoring a server that restores its guests. The command line of a copy of a zygote restores nothing.
 */
export async function nodeBurst(
  offshoot: Offshoot,
  restoring = offshoot,
): Promise<{ readonly node_v_burst: Figure; readonly node_v_burst_wall_ms: Figure }> {
  const hand = byHand(await recipeOf(restoring))
  const own = await launch(throughApi(offshoot), COUNT, 0)
  const floor = await launch(hand, COUNT, 0)
  const wall = new Samples()
  wall.add(own.wallMs)
  return {
    node_v_burst: own.samples.figure('ms', floor.samples.p50),
    node_v_burst_wall_ms: { ...wall.figure('ms', floor.wallMs), success: own.samples.figure('ms').success },
  }
}

async function launch(attempt: Attempt, count: number, everyMs: number) {
  const samples = new Samples()
  const beganAt = performance.now()
  let wallMs = 0
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      await delay(i * everyMs)
      const remove = await attempt(samples)
      wallMs = performance.now() - beganAt
      await remove()
    }),
  )
  return { samples, wallMs }
}

function throughApi(offshoot: Offshoot): Attempt {
  return async (samples) => {
    let id: string | undefined
    const opened = await samples.time(async () => {
      const made = await offshoot.create({ template: TEMPLATE })
      id = made.id
      return firstOutput(ownStream(offshoot, `/v1/sandboxes/${id}/exec/stream`, { cmd: COMMAND }), '"chunk":"v')
    })
    return async () => {
      await opened?.rest()
      if (id !== undefined) await offshoot.delete(id)
    }
  }
}

/**
 * Two at a time, as many as the host has CPUs in the reference setup: restores beside each other only wait for each
 * other. The wait for a turn counts.
 */
function byHand(recipe: Recipe): Attempt {
  const turns = new Semaphore(BY_HAND_AT_ONCE, Number.POSITIVE_INFINITY)
  return async (samples) => {
    let vm: BaselineVm | undefined
    await samples.time(async () =>
      turns.run(async () => {
        vm = await BaselineVm.running(recipe)
        const child = await vm.link.run({ argv: ['/bin/sh', '-c', COMMAND], stdin: 'none' })
        const [output] = (await once(child.stdout, 'data')) as [Buffer]
        if (!output.toString().startsWith('v')) throw new Error(`${COMMAND} wrote ${output.toString()}`)
      }),
    )
    return async () => vm?.kill()
  }
}
