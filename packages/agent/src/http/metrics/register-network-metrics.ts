import { Gauge, type Registry } from 'prom-client'
import type { Host } from '../../sandbox/model/host.ts'

/** Packets of guests that the packet filter refused, in total. `GET /v1/agent/usage`, which needs a credential, has them per sandbox. */
export function registerNetworkMetrics(registry: Registry, host: Host): void {
  const refused = new Gauge({
    name: 'offshoot_agent_egress_refused_packets',
    help: 'Refused packets of the current sandboxes since their creation: one for each attempted connection',
    registers: [registry],
    async collect() {
      const counted = await host.platform.network?.refused()
      const packets = [...host.sandboxes.values()].map(({ manifest }) => counted?.get(manifest.slot) ?? 0)
      refused.set(packets.reduce((sum, count) => sum + count, 0))
    },
  })
}
