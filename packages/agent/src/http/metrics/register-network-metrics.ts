import { Gauge, type Registry } from 'prom-client'
import type { Host } from '../../sandbox/model/host.ts'

/** What guests wanted to send and might not; sandboxes that were refused nothing are not listed. */
export function registerNetworkMetrics(registry: Registry, host: Host): void {
  const refused = new Gauge({
    name: 'offshoot_agent_egress_refused_packets',
    help: 'Packets of a sandbox that were refused since it was made: one for each connection that it tried to open',
    labelNames: ['sandbox_id'],
    registers: [registry],
    async collect() {
      refused.reset()
      const counted = await host.network?.refused()
      for (const { id, manifest } of host.sandboxes.values()) {
        const packets = counted?.get(manifest.slot) ?? 0
        if (packets > 0) refused.set({ sandbox_id: id }, packets)
      }
    },
  })
}
