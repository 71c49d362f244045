import { agentUsage, type AgentUsage } from '@offshoot/contract/sandbox-metrics'
import type { FastifyInstance } from 'fastify'
import type { KnownAgent } from '../../../fleet/agent-directory.ts'
import type { OrgsContext } from '../identity/orgs-context.ts'

/**
 * Milliseconds for an agent to list its sandboxes. Less than the ten seconds after which Prometheus aborts a scrape.
 */
const LIST_MS = 8_000
/**
 * Maximum number of sandboxes in one answer, over all agents: about 25 MB of text. A separate metric counts the omitted
 * ones.
 */
const MAX_SANDBOXES = 16_384
const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8'

type Sandbox = AgentUsage['sandboxes'][number]
type Labels = Readonly<Record<string, string>>

interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge'
  readonly help: string
  /** `null`: unknown, so no line is written. */
  readonly value: (sandbox: Sandbox) => number | null
}

const FAMILIES: readonly Family[] = [
  {
    name: 'offshoot_sandbox_cpu_seconds_total',
    type: 'counter',
    help: "CPU time of the VM's process",
    value: (sandbox) => sandbox.cpu_seconds,
  },
  {
    name: 'offshoot_sandbox_memory_guest_used_bytes',
    type: 'gauge',
    help: 'Memory in use inside the guest, by its own word, when it was last asked',
    value: (sandbox) => sandbox.memory_guest_used_bytes,
  },
  {
    name: 'offshoot_sandbox_memory_host_private_bytes',
    type: 'gauge',
    help: 'Host memory that the VM shares with no other',
    value: (sandbox) => sandbox.memory_host_private_bytes,
  },
  {
    name: 'offshoot_sandbox_disk_bytes',
    type: 'gauge',
    help: "Host disk of the layers above the template's image",
    value: (sandbox) => sandbox.disk_bytes,
  },
  {
    name: 'offshoot_sandbox_network_in_bytes_total',
    type: 'counter',
    help: 'Bytes to the guest',
    value: (sandbox) => sandbox.network_in_bytes,
  },
  {
    name: 'offshoot_sandbox_network_out_bytes_total',
    type: 'counter',
    help: 'Bytes from the guest',
    value: (sandbox) => sandbox.network_out_bytes,
  },
  {
    name: 'offshoot_sandbox_egress_refused_packets_total',
    type: 'counter',
    help: 'Packets that were refused: one for each connection that the guest tried to open and may not',
    value: (sandbox) => sandbox.refused_packets,
  },
]

/**
 * `GET /v1/admin/metrics`: Prometheus metrics with ids, which `GET /metrics` omits because it needs no credential. For
 * an agent that does not answer, it has only `offshoot_agent_up`.
 */
export function getAdminMetrics(app: FastifyInstance, { fleet, log }: OrgsContext): void {
  app.get('/v1/admin/metrics', {
    config: {
      credential: 'operator',
      operatorRole: 'viewer',
      docs: {
        summary: 'Figures of every sandbox with a VM, and of every agent, for Prometheus',
        tag: 'Operators',
        status: 200,
        mediaType: 'text/plain',
      },
    },
    handler: async (request, reply) => {
      const agents = await Promise.all(
        fleet.agents.map(async (agent) => {
          const usage = await usageOf(agent, request.id).catch((error: unknown) => {
            log.warn({ err: error, agent_id: agent.info?.agent_id }, 'figures of an agent not read')
            return null
          })
          return { agent, usage }
        }),
      )
      void reply.header('content-type', PROMETHEUS_TEXT)
      return format(agents)
    },
  })
}

async function usageOf({ client, info }: KnownAgent, requestId: string): Promise<AgentUsage | null> {
  if (info === null) return null
  const call = { method: 'GET', path: '/v1/agent/usage', requestId, timeoutMs: LIST_MS } as const
  return agentUsage.parse(await client.ask(call))
}

interface Asked {
  readonly agent: KnownAgent
  readonly usage: AgentUsage | null
}

function format(asked: readonly Asked[]): string {
  const known = asked.flatMap(({ agent: { info }, usage }) => (info === null ? [] : [{ info, usage }]))
  let room = MAX_SANDBOXES
  const shown = known.flatMap(({ info, usage }) => {
    if (usage === null) return []
    const sandboxes = usage.sandboxes.slice(0, room)
    room -= sandboxes.length
    const omitted = usage.omitted + usage.sandboxes.length - sandboxes.length
    return [{ agent_id: info.agent_id, sandboxes, omitted }]
  })
  const lines = [
    ...head('offshoot_agent_up', 'gauge', 'Whether the agent answered'),
    ...known.map(({ info, usage }) => line('offshoot_agent_up', { agent_id: info.agent_id }, Number(usage !== null))),
    ...head('offshoot_agent_memory_mib', 'gauge', 'Memory of the agent when it was last looked at, by kind'),
    ...known.flatMap(({ info }) =>
      Object.entries(info.memory_mib).map(([kind, mib]) =>
        line('offshoot_agent_memory_mib', { agent_id: info.agent_id, kind }, mib),
      ),
    ),
    ...head('offshoot_sandboxes_omitted', 'gauge', 'Sandboxes with a VM that this answer has no room for'),
    ...shown.map(({ agent_id, omitted }) => line('offshoot_sandboxes_omitted', { agent_id }, omitted)),
  ]
  for (const { name, type, help, value } of FAMILIES) {
    lines.push(...head(name, type, help))
    for (const { agent_id, sandboxes } of shown) {
      for (const sandbox of sandboxes) {
        const known = value(sandbox)
        const { workspace_id, sandbox_id } = sandbox
        if (known !== null) lines.push(line(name, { agent_id, workspace_id, sandbox_id }, known))
      }
    }
  }
  return `${lines.join('\n')}\n`
}

function head(name: string, type: Family['type'], help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
}

/** Labels need no escaping: they are ids and fixed words, which the schemas of the answers guarantee. */
function line(name: string, labels: Labels, value: number): string {
  const shown = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
  return `${name}{${shown.join(',')}} ${value}`
}
