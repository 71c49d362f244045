/**
 * `bin/bench [NAME…]`: starts a server in an empty data directory, runs the named benches (default: all but those on
 * request), prints their figures, and writes bench/results/latest.json.
 *
 * Each bench runs in a child process, so one that fails or hangs does not end the others. Exits with 1 if any failed.
 */
import { mkdir } from 'node:fs/promises'
import { Offshoot } from '../tests/setup/offshoot.ts'
import { findRegistries } from '../tests/setup/registries.ts'
import { gitHostException } from './app-benches.ts'
import { type Bench, BENCH_MS, benches } from './benches.ts'
import { emptyWorkspace } from '../tests/setup/empty-workspace.ts'
import { type Figure, Samples } from './measure.ts'
import { save, table } from './report.ts'
import { runInChild } from './run-in-child.ts'
import { TEST_HOST_EXCEPTION } from './test-host.ts'

const SETUP = ['fresh_setup_s', 'restart_s'] as const
const known = [...SETUP, ...benches.flatMap(({ names }) => names)]

/** Maximum milliseconds of a full run, including its setup. A bench that would start later is reported as failed. */
const RUN_MS = 23 * 60_000
/**
 * Milliseconds of each series of rounds in a full run. A bench named on the command line takes its own, longer time.
 */
const FULL_RUN_ROUNDS_MS = 8_000

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)))

async function seconds(operation: () => Promise<unknown>): Promise<Figure> {
  const samples = new Samples()
  await samples.time(operation)
  return { ...samples.figure('s'), p50: samples.p50 / 1000, p95: samples.p50 / 1000, p99: samples.p50 / 1000 }
}

/** Collects figures, and the reasons of benches without figures. Writes both after each bench. */
class Results {
  readonly figures = new Map<string, Figure>()
  readonly failures = new Map<string, string>()

  async add(figures: Readonly<Record<string, Figure>>): Promise<void> {
    for (const [name, figure] of Object.entries(figures)) this.figures.set(name, figure)
    console.error(table(new Map(Object.entries(figures))))
    await save(this.figures)
  }

  fail(name: string, error: unknown): void {
    this.failures.set(name, error instanceof Error ? error.message : String(error))
    console.error(`failed: ${name}:`, error)
  }
}

async function runEach(chosen: readonly Bench[], offshoot: Offshoot, results: Results, roundsMs: number | null) {
  const endsAt = performance.now() + RUN_MS - process.uptime() * 1000
  for (const bench of chosen) {
    if (stop.signal.aborted) return
    const name = bench.names.join(', ')
    const restMs = roundsMs === null ? Number.POSITIVE_INFINITY : endsAt - performance.now()
    if (restMs <= 0) {
      results.fail(name, new Error(`not run: the full run has taken ${RUN_MS / 60_000} minutes`))
      continue
    }
    console.error(`bench: ${name}`)
    const beganAt = performance.now()
    try {
      const withinMs = Math.min(bench.withinMs ?? BENCH_MS, restMs)
      await results.add(await runInChild(bench, offshoot.dataDir, { withinMs, roundsMs, stop: stop.signal }))
    } catch (error) {
      results.fail(name, error)
      if (bench.isStandalone) continue
      await emptyWorkspace(offshoot).catch((cause: unknown) => console.error('not emptied:', cause))
    }
    console.error(`  took ${Math.round((performance.now() - beganAt) / 1000)} s`)
  }
}

async function main(wanted: ReadonlySet<string>): Promise<void> {
  const results = new Results()
  const isWanted = (name: string) => wanted.size === 0 || wanted.has(name)
  const isFresh = isWanted('fresh_setup_s')
  // With a fresh setup it builds its own images; otherwise it uses the existing ones.
  const registries = await findRegistries().catch(() => ({ exceptions: [] }))
  const offshoot = Offshoot.prepare('bench', {
    templates: null,
    ownImages: isFresh,
    env: { OFFSHOOT_EGRESS_ALLOW: [TEST_HOST_EXCEPTION, gitHostException(), ...registries.exceptions].join(',') },
  })
  const chosen = benches.filter(({ names, isOnRequest }) =>
    wanted.size === 0 ? isOnRequest !== true : names.some(isWanted),
  )
  try {
    if (SETUP.some(isWanted) || chosen.some((bench) => !bench.isStandalone)) {
      const fresh = await seconds(async () => offshoot.up())
      if (isFresh) await results.add({ fresh_setup_s: fresh })
    } else await mkdir(offshoot.dataDir, { recursive: true, mode: 0o711 })
    if (isWanted('restart_s')) {
      await offshoot.stop()
      await results.add({ restart_s: await seconds(async () => offshoot.up()) })
    }
    await runEach(chosen, offshoot, results, wanted.size === 0 ? FULL_RUN_ROUNDS_MS : null)
  } catch (error) {
    results.fail('set-up', error)
  } finally {
    await offshoot.destroy()
  }
  console.log(table(results.figures))
  for (const [name, reason] of results.failures) console.log(`failed: ${name}: ${reason.split('\n')[0]}`)
  if (results.failures.size > 0 || stop.signal.aborted) process.exitCode = 1
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`No bench is called ${unknown.join(', ')}. There are: ${known.join(', ')}.`)
  process.exitCode = 2
} else {
  await main(new Set(names))
  process.exit()
}
