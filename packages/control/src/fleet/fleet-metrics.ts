import { diskState } from '@offshoot/contract/agent-disk'
import { Counter, Gauge, type Registry } from 'prom-client'
import { addGauge } from '../platform/http/metrics.ts'
import type { FleetContext } from './fleet-context.ts'
import { countLeases } from './lease-statements.ts'
import { waitingByAgent } from './reconcile-statements.ts'

export function addFleetMetrics(
  registry: Registry,
  { fleet, database }: Pick<FleetContext, 'fleet' | 'database'>,
): void {
  const registers = [registry]
  const skipped = new Counter({
    name: 'offshoot_agent_records_skipped_total',
    help: 'Records of agents that this version does not understand and passed over',
    registers,
    collect() {
      skipped.reset()
      skipped.inc(fleet.skippedRecords)
    },
  })
  const waiting = new Gauge({
    name: 'offshoot_reconcile_waiting',
    help: 'Objects that reconciliation removes only when an operator confirms it (docs/recovery.md)',
    registers,
    async collect() {
      const rows = await waitingByAgent(database.pool).catch(() => null)
      if (rows !== null) waiting.set(rows.reduce((sum, { count }) => sum + count, 0))
    },
  })
  addGauge(registry, 'offshoot_agents', 'Agents in the configuration', () => fleet.agents.length)
  addGauge(
    registry,
    'offshoot_agents_foreign',
    'Agents that obey another cluster',
    () => fleet.agents.filter((agent) => agent.isForeign).length,
  )
  addGauge(
    registry,
    'offshoot_agents_up',
    'Agents that answer',
    () => fleet.agents.filter((agent) => agent.isReachable).length,
  )
  addGauge(
    registry,
    'offshoot_agents_lost',
    'Agents that no control process has heard for `lost_after_seconds`',
    () => fleet.agents.filter((agent) => agent.isLost).length,
  )
  addGauge(
    registry,
    'offshoot_stopped_database_vms',
    'Databases that are stopped because their host has no lease',
    () => fleet.agents.reduce((sum, { info }) => sum + (info?.lease?.stopped_vms ?? 0), 0),
  )
  const leases = new Gauge({
    name: 'offshoot_host_leases',
    help: 'Leases of hosts, by state: held, ended',
    labelNames: ['state'],
    registers,
    async collect() {
      const [row] = await countLeases(database.pool).catch(() => [])
      if (row === undefined) return
      leases.set({ state: 'held' }, row.held)
      leases.set({ state: 'ended' }, row.ended)
      leaseAge.set(row.oldest_seconds ?? 0)
    },
  })
  const leaseAge = new Gauge({
    name: 'offshoot_host_lease_age_seconds',
    help: 'Seconds since the last renewal of the host lease that was renewed the longest ago',
    registers,
  })
  const memory = new Gauge({
    name: 'offshoot_agents_memory_mib',
    help: 'Memory of all agents together when each was last looked at (`GET /v1/agent` says what each kind is)',
    labelNames: ['kind'],
    registers,
    collect() {
      memory.reset()
      for (const { info } of fleet.agents) {
        for (const [kind, mib] of Object.entries(info?.memory_mib ?? {})) memory.inc({ kind }, mib)
      }
    },
  })
  const disk = new Gauge({
    name: 'offshoot_agents_disk_bytes',
    help: 'Disks of all agents together when each was last looked at: total, free',
    labelNames: ['kind'],
    registers,
    collect() {
      disk.reset()
      for (const { info } of fleet.agents) {
        disk.inc({ kind: 'total' }, info?.disk?.total_bytes ?? 0)
        disk.inc({ kind: 'free' }, info?.disk?.free_bytes ?? 0)
      }
    },
  })
  const disks = new Gauge({
    name: 'offshoot_agents_disk',
    help: 'Agents by the state of their disk when each was last looked at: ok, low, refusing',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of diskState.options) {
        disks.set({ state }, fleet.agents.filter(({ info }) => info?.disk?.state === state).length)
      }
    },
  })
}
