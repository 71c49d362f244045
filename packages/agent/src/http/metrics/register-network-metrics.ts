import { Gauge, type Registry } from 'prom-client'
import type { Host } from '../../sandbox/model/host.ts'

/** What guests wanted to send and might not. Of each sandbox: `GET /v1/agent/usage`, which needs a credential. */
export function registerNetworkMetrics(registry: Registry, host: Host): void {
  const refused = new Gauge({
    name: 'offshoot_agent_egress_refused_packets',
    help: 'Packets that were refused to the sandboxes here since each was made: one for each connection that it tried to open',
    registers: [registry],
    async collect() {
      const counted = await host.network?.refused()
      const packets = [...host.sandboxes.values()].map(({ manifest }) => counted?.get(manifest.slot) ?? 0)
      refused.set(packets.reduce((sum, count) => sum + count, 0))
    },
  })
}
