import type { CpuLimits, GuestNetworkInfo } from '@offshoot/contract/agent-api'
import type { FastifyInstance } from 'fastify'
import type { Agent } from '../sandbox/agent.ts'
import type { Host } from '../sandbox/model/host.ts'

/** `GET /healthz`, without a credential: that the agent is up, and at which tiers it runs. */
export function getHealth(server: FastifyInstance, agent: Agent): void {
  const { kind, reason } = describeNetwork(agent.host)
  const network = withReason(kind, reason)
  const accelerator = withReason(agent.accelerator, agent.acceleratorReason)
  server.get('/healthz', { config: { isPublic: true } }, async () => ({
    status: 'ok',
    checks: { accelerator, isolation: agent.isolation, cpu_limits: cpuLimitsOf(agent.host), network },
  }))
}

/** Which control groups bound the CPU time of VMs. */
export function cpuLimitsOf({ cgroups }: Host): CpuLimits {
  return cgroups?.cpuLimits ?? 'none'
}

export function describeNetwork({ network, networkReason }: Host): GuestNetworkInfo {
  return { kind: network === null ? 'none' : 'tap', reason: networkReason }
}

function withReason(what: string, reason: string | null): string {
  return reason === null ? what : `${what}: ${reason}`
}
