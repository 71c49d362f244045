import type { Offshoot } from '../tests/setup/offshoot.ts'
import { appRequests, appScaleOut, deployNodeCached, deployStatic } from './app-benches.ts'
import { codeResults } from './code-benches.ts'
import { brokerQuery, databaseBranch, databaseConnections, databaseLife, databaseRate } from './database-benches.ts'
import { databaseFailover } from './database-failover-bench.ts'
import { consoleEventToPage, consoleFirstPaint, consoleTerminalPrompt, lineageFrames } from './console-benches.ts'
import { idleDensity } from './density-benches.ts'
import { e2bFirstOutput } from './e2b-benches.ts'
import { eventsFanout, idleFollowers } from './event-benches.ts'
import { failover } from './failover-bench.ts'
import { fleetOf1000 } from './fleet-benches.ts'
import { fork, forkTree, lifecycle, snapshot } from './fork-benches.ts'
import { hibernateAgain } from './hibernate-again-bench.ts'
import { hibernatedCost } from './hibernated-benches.ts'
import { forkBesideHibernation, forkLarge } from './large-guest-benches.ts'
import { apiRead, authOverhead, ledgerEvents, quotaRace } from './limits-benches.ts'
import { idleQueries, ttlLateness } from './job-benches.ts'
import { languageServers } from './lsp-benches.ts'
import { mcpCall } from './mcp-benches.ts'
import type { Figure } from './measure.ts'
import { moves } from './move-benches.ts'
import { guestHttpGet, networkSetup } from './network-benches.ts'
import { nodeBurst, nodeSequential, nodeStaggered } from './node-benches.ts'
import { noisyNeighbour } from './noisy-neighbour-bench.ts'
import {
  burstOfCopies,
  continuedDatabases,
  continuedSandboxes,
  forkAppByCopies,
  idleCopies,
  scaleOutByCopies,
} from './continued-benches.ts'
import { forkApp } from './fork-app-bench.ts'
import { createFromPool, databaseFromPool, firstCommandsFromPool } from './pool-benches.ts'
import { preview, previewWake } from './preview-benches.ts'
import { guestWork } from './guest-work-bench.ts'
import { proxyRate } from './proxy-rate-bench.ts'
import { burst, createAndDelete, execTrue, memoryPrivate } from './sandbox-benches.ts'
import { cliExec, cliFirstPrompt, cliHelp } from './cli-benches.ts'
import { sdkCallOverhead } from './sdk-benches.ts'
import { sessions } from './session-benches.ts'
import { signUpToFirstExec } from './signup-benches.ts'
import { sshFirstPrompt, sshThroughput } from './ssh-benches.ts'
import { execThroughput, fileThroughput, streamFirstByte } from './stream-benches.ts'
import { diskOf, templateBuild } from './template-benches.ts'
import { templateToNewHost } from './template-move-bench.ts'
import { largeTraces, poolTraces, traces } from './trace-bench.ts'
import { createWithVolume, volumeWrites } from './volume-benches.ts'
import { terminalEcho } from './terminal-benches.ts'

/** Default milliseconds after which a bench counts as hung. */
export const BENCH_MS = 150_000

export interface Bench {
  /** The figures that it measures. The first is also the name of the bench. */
  readonly names: readonly [string, ...string[]]
  readonly run: (offshoot: Offshoot) => Promise<Record<string, Figure>>
  /** Milliseconds after which it counts as hung, if {@link BENCH_MS} is too short. */
  readonly withinMs?: number
  /** It needs no server: it starts what it measures. */
  readonly isStandalone?: true
  /** It is too slow for a full run, so it runs only if the command line names it. */
  readonly isOnRequest?: true
}

/** In the order of a full run. */
export const benches: readonly Bench[] = [
  { names: ['create', 'delete'], run: createAndDelete },
  { names: ['create_pool'], run: createFromPool },
  { names: ['first_exec_pool', 'node_v_pool'], run: firstCommandsFromPool },
  {
    names: ['fork_pool', 'fork_first_exec_pool', 'wake_pool', 'wake_first_exec_pool', 'fork_tree_16_pool'],
    run: continuedSandboxes,
    withinMs: 2 * BENCH_MS,
  },
  { names: ['net_setup_ms'], run: networkSetup },
  { names: ['guest_http_get'], run: guestHttpGet },
  { names: ['exec_true'], run: execTrue },
  {
    names: [
      'guest_work_true',
      'guest_work_node_v',
      'guest_work_python',
      'guest_work_pipes_mib',
      'guest_work_small_file',
    ],
    run: guestWork,
  },
  { names: ['memory_private_mib'], run: memoryPrivate },
  { names: ['memory_private_pool_mib'], run: idleCopies },
  { names: ['burst50'], run: burst, withinMs: 2 * BENCH_MS },
  { names: ['node_v_sequential'], run: nodeSequential, withinMs: 2 * BENCH_MS },
  { names: ['node_v_staggered'], run: nodeStaggered, withinMs: 2 * BENCH_MS },
  { names: ['node_v_burst', 'node_v_burst_wall_ms'], run: nodeBurst, withinMs: 2 * BENCH_MS },
  { names: ['node_v_burst_pool', 'node_v_burst_pool_wall_ms'], run: burstOfCopies, withinMs: 2 * BENCH_MS },
  { names: ['e2b_create_to_first_output'], run: e2bFirstOutput },
  { names: ['code_first_result', 'code_next_result'], run: codeResults },
  { names: ['mcp_call'], run: mcpCall },
  { names: ['sdk_call_overhead_ms'], run: sdkCallOverhead },
  { names: ['cli_help_ms'], run: cliHelp },
  { names: ['cli_exec_ms'], run: cliExec },
  { names: ['cli_first_prompt_ms'], run: cliFirstPrompt },
  { names: ['console_first_paint_ms', 'console_first_js_kib'], run: consoleFirstPaint },
  { names: ['console_terminal_prompt_ms'], run: consoleTerminalPrompt },
  { names: ['console_event_to_page_ms'], run: consoleEventToPage },
  { names: ['lineage_200_fps'], run: lineageFrames },
  { names: ['fork', 'fork_parent_pause_ms'], run: fork },
  { names: ['pause', 'resume', 'hibernate', 'wake'], run: lifecycle },
  { names: ['hibernate_again', 'hibernate_again_mib'], run: hibernateAgain },
  { names: ['snapshot'], run: snapshot },
  { names: ['fork_tree_16', 'fork_tree_16_private_mib'], run: forkTree },
  { names: ['fork_app_300mib', 'fork_app_300mib_request'], run: forkApp },
  { names: ['fork_app_300mib_pool', 'fork_app_300mib_request_pool'], run: forkAppByCopies, withinMs: 2 * BENCH_MS },
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
  { names: ['ssh_first_prompt_ms'], run: sshFirstPrompt },
  { names: ['ssh_throughput_mib_s'], run: sshThroughput },
  { names: ['preview_rtt', 'preview_rtt_agent', 'preview_throughput_mib_s'], run: preview },
  { names: ['preview_wake', 'preview_wake_node'], run: previewWake },
  {
    names: ['preview_rps', 'preview_rps_bare', 'preview_request_cpu_us', 'preview_request_cpu_bare_us'],
    run: proxyRate,
  },
  { names: ['lsp_initialize_ms', 'lsp_diagnostics_ms'], run: languageServers },
  { names: ['events_fanout'], run: eventsFanout },
  { names: ['idle_followers_control_mib', 'idle_followers_agent_mib'], run: idleFollowers },
  { names: ['api_read_rps', 'api_read_half_load'], run: apiRead },
  { names: ['auth_overhead'], run: authOverhead },
  { names: ['ledger_events_s'], run: ledgerEvents },
  { names: ['quota_race'], run: quotaRace },
  { names: ['ttl_lateness_ms'], run: ttlLateness },
  { names: ['jobs_idle_queries_per_s'], run: idleQueries },
  {
    names: [
      'place_1000_hosts_ms',
      'bare_commits_1000_hosts_ms',
      'list_100000_ms',
      'records_projected_per_s',
      'control_fleet_mib',
      'control_fleet_idle_cpu',
    ],
    run: async () => fleetOf1000(),
    withinMs: 4 * BENCH_MS,
    isStandalone: true,
  },
  {
    names: ['wake_on_other_host_ms', 'move_with_bake_s', 'move_with_bake_mib', 'move_s', 'move_mib', 'drain_host_s'],
    run: async () => moves(),
    withinMs: 4 * BENCH_MS,
    isStandalone: true,
    isOnRequest: true,
  },
  {
    names: ['template_to_new_host_s'],
    run: async () => templateToNewHost(),
    withinMs: 4 * BENCH_MS,
    isStandalone: true,
    isOnRequest: true,
  },
  { names: ['traces'], run: async () => traces(), withinMs: 2 * BENCH_MS, isStandalone: true, isOnRequest: true },
  {
    names: ['traces_pool'],
    run: async () => poolTraces(),
    withinMs: 3 * BENCH_MS,
    isStandalone: true,
    isOnRequest: true,
  },
  {
    names: ['traces_large'],
    run: async () => largeTraces(),
    withinMs: 3 * BENCH_MS,
    isStandalone: true,
    isOnRequest: true,
  },
  {
    names: ['failover_to_serving_s', 'drain_app_s'],
    run: async () => failover(),
    withinMs: 4 * BENCH_MS,
    isStandalone: true,
    isOnRequest: true,
  },
  {
    names: ['database_failover_to_serving_s'],
    run: async () => databaseFailover(),
    withinMs: 4 * BENCH_MS,
    isStandalone: true,
    isOnRequest: true,
  },
  {
    names: ['noisy_neighbour', 'noisy_neighbour_events', 'noisy_neighbour_usage'],
    run: noisyNeighbour,
    withinMs: 2 * BENCH_MS,
  },
  { names: ['signup_to_first_exec_s'], run: signUpToFirstExec },
  { names: ['template_build_tar_500mib'], run: templateBuild },
  { names: ['disk_per_sandbox_mib', 'disk_per_fork_mib'], run: diskOf },
  { names: ['create_with_volume'], run: createWithVolume },
  { names: ['volume_seq_write_mib_s', 'volume_fsync_per_s'], run: volumeWrites },
  { names: ['deploy_static', 'rollback'], run: deployStatic },
  { names: ['deploy_node_cached'], run: deployNodeCached, withinMs: 2 * BENCH_MS },
  { names: ['app_request', 'app_wake'], run: appRequests },
  { names: ['app_scale_out'], run: appScaleOut },
  { names: ['app_scale_out_pool'], run: scaleOutByCopies },
  { names: ['db_create', 'db_wake'], run: databaseLife },
  { names: ['db_create_pool'], run: databaseFromPool },
  {
    names: ['db_wake_pool', 'db_branch_pool', 'db_branch_parent_pause_pool_ms'],
    run: continuedDatabases,
    withinMs: 2 * BENCH_MS,
  },
  { names: ['db_branch', 'db_branch_parent_pause_ms'], run: databaseBranch },
  { names: ['db_connect'], run: databaseConnections },
  { names: ['db_tps'], run: databaseRate },
  { names: ['broker_query'], run: brokerQuery },
  { names: ['sessions_control_mib', 'sessions_agent_mib', 'sessions_qemu_mib'], run: sessions },
]
