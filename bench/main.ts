/**
 * `bin/bench [NAME…]`: starts a server of its own in an empty data directory, runs the benches named (all by default),
 * prints their figures and writes bench/results/latest.json.
 */
import { Offshoot } from '../tests/setup/offshoot.ts'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { appRequests, appScaleOut, deployNodeCached, deployStatic, gitHostException } from './app-benches.ts'
import { BareVm } from './bare-vm.ts'
import { brokerQuery, databaseBranch, databaseConnections, databaseLife, databaseRate } from './database-benches.ts'
import { idleDensity } from './density-benches.ts'
import { eventsFanout, idleFollowers } from './event-benches.ts'
import { fork, forkTree, lifecycle, snapshot } from './fork-benches.ts'
import { hibernatedCost } from './hibernated-benches.ts'
import { forkBesideHibernation, forkLarge } from './large-guest-benches.ts'
import { apiRead, authOverhead, ledgerEvents, quotaRace } from './limits-benches.ts'
import { languageServers } from './lsp-benches.ts'
import { type Figure, Samples } from './measure.ts'
import { save, table } from './report.ts'
import { guestHttpGet, networkSetup } from './network-benches.ts'
import { createFromPool } from './pool-benches.ts'
import { preview, previewWake } from './preview-benches.ts'
import { proxyRate } from './proxy-rate-bench.ts'
import { burst, createAndDelete, execTrue, memoryPrivate } from './sandbox-benches.ts'
import { sessions } from './session-benches.ts'
import { signUpToFirstExec } from './signup-benches.ts'
import { execThroughput, fileThroughput, streamFirstByte } from './stream-benches.ts'
import { diskOf, templateBuild } from './template-benches.ts'
import { createWithVolume, volumeWrites } from './volume-benches.ts'
import { terminalEcho } from './terminal-benches.ts'
import { findRegistries } from '../tests/setup/registries.ts'
import { TEST_HOST_EXCEPTION } from './test-host.ts'

/** Milliseconds after which a bench hangs: each limits its own rounds to less. */
const BENCH_MS = 150_000

const SETUP = ['fresh_setup_s', 'restart_s'] as const

/** Which run gives which figures. */
const benches: readonly {
  readonly names: readonly string[]
  readonly run: (offshoot: Offshoot) => Promise<Record<string, Figure>>
  /** Milliseconds after which it hangs, where {@link BENCH_MS} is too few. */
  readonly withinMs?: number
}[] = [
  { names: ['create', 'delete'], run: createAndDelete },
  { names: ['create_pool'], run: createFromPool },
  { names: ['net_setup_ms'], run: networkSetup },
  { names: ['guest_http_get'], run: guestHttpGet },
  { names: ['exec_true'], run: execTrue },
  { names: ['memory_private_mib'], run: memoryPrivate },
  { names: ['burst50'], run: burst },
  { names: ['fork', 'fork_parent_pause_ms'], run: fork },
  { names: ['pause', 'resume', 'hibernate', 'wake'], run: lifecycle },
  { names: ['snapshot'], run: snapshot },
  { names: ['fork_tree_16', 'fork_tree_16_private_mib'], run: forkTree },
  { names: ['fork_4gib'], run: async () => forkLarge() },
  { names: ['fork_pause_beside_hibernation_ms'], run: async () => forkBesideHibernation() },
  { names: ['idle_density_private_mib', 'idle_density_host_mib', 'idle_density_cpu'], run: idleDensity },
  {
    names: ['hibernated_cost_disk', 'hibernated_cost_agent_mib', 'start_with_10000_hibernated_s'],
    run: async () => hibernatedCost(),
  },
  { names: ['stream_first_byte'], run: streamFirstByte },
  { names: ['exec_throughput_mib_s'], run: execThroughput },
  { names: ['fs_write_100mib', 'fs_read_100mib'], run: fileThroughput },
  { names: ['pty_echo'], run: terminalEcho },
  { names: ['preview_rtt', 'preview_throughput_mib_s'], run: preview },
  { names: ['preview_wake', 'preview_wake_node'], run: previewWake },
  { names: ['preview_rps', 'preview_request_cpu_us'], run: proxyRate },
  { names: ['lsp_initialize_ms', 'lsp_diagnostics_ms'], run: languageServers },
  { names: ['events_fanout'], run: eventsFanout },
  { names: ['idle_followers_control_mib', 'idle_followers_agent_mib'], run: idleFollowers },
  { names: ['api_read_rps', 'api_read_half_load'], run: apiRead },
  { names: ['auth_overhead'], run: authOverhead },
  { names: ['ledger_events_s'], run: ledgerEvents },
  { names: ['quota_race'], run: quotaRace },
  { names: ['signup_to_first_exec_s'], run: signUpToFirstExec },
  { names: ['template_build_tar_500mib'], run: templateBuild },
  { names: ['disk_per_sandbox_mib', 'disk_per_fork_mib'], run: diskOf },
  { names: ['create_with_volume'], run: createWithVolume },
  { names: ['volume_seq_write_mib_s', 'volume_fsync_per_s'], run: volumeWrites },
  { names: ['deploy_static', 'rollback'], run: deployStatic },
  { names: ['deploy_node_cached'], run: deployNodeCached, withinMs: 2 * BENCH_MS },
  { names: ['app_request', 'app_wake'], run: appRequests },
  { names: ['app_scale_out'], run: appScaleOut },
  { names: ['db_create', 'db_wake'], run: databaseLife },
  { names: ['db_branch', 'db_branch_parent_pause_ms'], run: databaseBranch },
  { names: ['db_connect'], run: databaseConnections },
  { names: ['db_tps'], run: databaseRate },
  { names: ['broker_query'], run: brokerQuery },
  { names: ['sessions_control_mib', 'sessions_agent_mib', 'sessions_qemu_mib'], run: sessions },
]

const known = [...SETUP, ...benches.flatMap(({ names }) => names)]

async function seconds(operation: () => Promise<unknown>): Promise<Figure> {
  const samples = new Samples()
  await samples.time(operation)
  return { ...samples.figure('s'), p50: samples.p50 / 1000, p95: samples.p50 / 1000, p99: samples.p50 / 1000 }
}

type Bench = (typeof benches)[number]

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(signal)))

/** The others go on after one that fails; one that hangs is the last, because it still has what it holds. */
async function runEach(chosen: readonly Bench[], offshoot: Offshoot, figures: Map<string, Figure>): Promise<void> {
  for (const { names, run, withinMs = BENCH_MS } of chosen) {
    if (stop.signal.aborted) return
    console.error(`bench: ${names.join(', ')}`)
    try {
      const measured = await Deadline.after(withinMs, names.join(', '), stop.signal).race(run(offshoot))
      for (const [name, figure] of Object.entries(measured)) figures.set(name, figure)
    } catch (error) {
      console.error(`failed: ${names.join(', ')}:`, error)
      process.exitCode = 1
      if (error instanceof DeadlineExceeded) return
    }
  }
}

async function main(wanted: ReadonlySet<string>): Promise<void> {
  const figures = new Map<string, Figure>()
  const isWanted = (name: string) => wanted.size === 0 || wanted.has(name)
  const isFresh = isWanted('fresh_setup_s')
  // A fresh set-up builds its images too; without it those of earlier runs serve.
  const registries = await findRegistries().catch(() => ({ exceptions: [] }))
  const offshoot = Offshoot.prepare('bench', {
    templates: null,
    ownImages: isFresh,
    env: { OFFSHOOT_EGRESS_ALLOW: [TEST_HOST_EXCEPTION, gitHostException(), ...registries.exceptions].join(',') },
  })
  try {
    const fresh = await seconds(async () => offshoot.up())
    if (isFresh) figures.set('fresh_setup_s', fresh)
    if (isWanted('restart_s')) {
      await offshoot.stop()
      figures.set('restart_s', await seconds(async () => offshoot.up()))
    }
    await runEach(
      benches.filter(({ names }) => names.some(isWanted)),
      offshoot,
      figures,
    )
  } finally {
    await BareVm.killAll()
    await offshoot.destroy()
  }
  console.log(table(figures))
  await save(figures)
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`No bench is called ${unknown.join(', ')}. There are: ${known.join(', ')}.`)
  process.exitCode = 2
} else {
  await main(new Set(names))
  // A bench that hung may still wait for something.
  process.exit()
}
