import type { CpuLimits, GuestNetworkInfo } from '@offshoot/contract/agent-api'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import type { HostPlatform, HostStore } from '../sandbox/model/host.ts'

const MIB = 1024 ** 2

/** `GET /healthz`, without a credential: that the agent is up, and at which tiers it runs. */
export function getHealth(server: FastifyInstance, agent: Agent): void {
  const { kind, reason } = describeNetwork(agent.host.platform)
  const network = withReason(kind, reason)
  const accelerator = withReason(agent.accelerator, agent.acceleratorReason)
  server.get('/healthz', { config: { isPublic: true } }, async () => ({
    status: 'ok',
    checks: {
      accelerator,
      isolation: agent.isolation,
      cpu_limits: cpuLimitsOf(agent.host.platform),
      network,
      disk: await describeDisk(agent.host.store),
    },
  }))
}

/** Which control groups bound the CPU time of VMs. */
export function cpuLimitsOf({ cgroups }: HostPlatform): CpuLimits {
  return cgroups?.cpuLimits ?? 'none'
}

export function describeNetwork({ network, networkReason }: HostPlatform): GuestNetworkInfo {
  return { kind: network === null ? 'none' : 'tap', reason: networkReason }
}

/** `ok`, `low: 1834 of 20480 MiB are free`, `refusing: …`, or the reason why the state is unknown. */
async function describeDisk({ room }: HostStore): Promise<string> {
  try {
    const { state, free_bytes, total_bytes } = await room.look()
    const free = `${Math.floor(free_bytes / MIB)} of ${Math.floor(total_bytes / MIB)} MiB are free`
    return withReason(state, state === 'ok' ? null : free)
  } catch (error) {
    return withReason('unknown', error instanceof Error ? error.message : String(error))
  }
}

function withReason(what: string, reason: string | null): string {
  return reason === null ? what : `${what}: ${reason}`
}
