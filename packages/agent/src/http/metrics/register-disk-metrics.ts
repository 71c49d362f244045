import { diskState } from '@offshoot/contract/agent-disk'
import { Gauge, type Registry } from 'prom-client'
import type { HostStore } from '../../sandbox/model/host.ts'

/** Metrics of the data directory's file system. They are missing if its free space is unknown. */
export function registerDiskMetrics(registry: Registry, { room }: HostStore): void {
  const registers = [registry]
  const look = () => room.look().catch(() => null)
  const bytes = new Gauge({
    name: 'offshoot_agent_disk_bytes',
    help: 'total, free: of the file system that has the data directory. warn_below, refuse_below: its watermarks',
    labelNames: ['kind'],
    registers,
    async collect() {
      const found = await look()
      bytes.reset()
      if (found === null) return
      bytes.set({ kind: 'total' }, found.total_bytes)
      bytes.set({ kind: 'free' }, found.free_bytes)
      bytes.set({ kind: 'warn_below' }, found.warn_below_bytes)
      bytes.set({ kind: 'refuse_below' }, found.refuse_below_bytes)
    },
  })
  const state = new Gauge({
    name: 'offshoot_agent_disk_state',
    help: '1 for the state that the disk is in. low: below the first watermark. refusing: below the second one, so that creates are answered 507',
    labelNames: ['state'],
    registers,
    async collect() {
      const found = await look()
      state.reset()
      if (found === null) return
      for (const each of diskState.options) state.set({ state: each }, each === found.state ? 1 : 0)
    },
  })
}
