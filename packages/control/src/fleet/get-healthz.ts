import { diskState, type DiskState } from '@offshoot/contract/agent-disk'
import { Deadline } from '@offshoot/kit/deadline'
import type { FastifyInstance } from 'fastify'
import type { KnownAgent } from './agent-directory.ts'
import { agentCursors } from './agent-statements.ts'
import { z } from 'zod'
import type { FleetContext } from './fleet-context.ts'
import { briefCache } from '../platform/http/brief-cache.ts'
import type { RouteDocs } from '../platform/http/route-docs.ts'

const HEALTHZ_DOCS: RouteDocs = {
  summary: 'Whether the service is up (503 when its database is out of reach), and what its agents run on',
  tag: 'Service',
  status: 200,
  answer: z.object({
    status: z.enum(['ok', 'unavailable']),
    checks: z.record(z.string(), z.string()),
    agents: z.array(z.unknown()),
  }),
}
/** Milliseconds that the database may take to answer. */
const DATABASE_TIMEOUT_MS = 2_000
/** Milliseconds for which an answer of the database is cached. */
const FRESH_MS = 250

/** `behind`: the rows do not yet show everything that the agent had logged at the last poll. */
type AgentStatus = 'ok' | 'behind' | 'unreachable'

/**
 * `GET /healthz`: 200 while the database can be reached, else 503. The agents do not matter, because a control plane
 * without nodes is still up. The answer names each agent's accelerator and isolation, because isolation differs between
 * hosts.
 */
export function getHealthz(app: FastifyInstance, control: FleetContext): void {
  const latestCursors = briefCache(FRESH_MS, () => readCursors(control))
  app.get('/healthz', { config: { docs: HEALTHZ_DOCS } }, async (_request, reply) => {
    const cursors = await latestCursors()
    const agents = control.fleet.agents.map((agent) => describe(agent, cursors))
    reply.code(cursors ? 200 : 503)
    return {
      status: cursors ? 'ok' : 'unavailable',
      checks: {
        database: cursors ? 'ok' : 'unreachable',
        agents: sumUp(agents.map(({ status }) => status)),
        disk: worstDisk(agents.flatMap(({ status, disk }) => (status === 'unreachable' ? [] : [disk?.state ?? 'ok']))),
      },
      agents,
    }
  })
}

/** `null` if the database does not answer. */
export async function readCursors({ database, log }: FleetContext): Promise<ReadonlyMap<string, number> | null> {
  try {
    const rows = await Deadline.after(DATABASE_TIMEOUT_MS, 'the database').race(agentCursors(database.pool))
    return new Map(rows.map(({ id, cursor }) => [id, cursor]))
  } catch (error) {
    log.warn({ err: error }, 'database not reachable')
    return null
  }
}

function describe({ info, isReachable }: KnownAgent, cursors: ReadonlyMap<string, number> | null) {
  const isBehind = info !== null && (cursors?.get(info.agent_id) ?? 0) < info.last_seq
  const status: AgentStatus = !isReachable ? 'unreachable' : isBehind ? 'behind' : 'ok'
  return {
    id: info?.agent_id ?? null,
    status,
    accelerator: info?.accelerator ?? null,
    accelerator_reason: info?.accelerator_reason ?? null,
    isolation: info?.isolation ?? null,
    cpu_limits: info?.cpu_limits ?? null,
    network: info?.network ?? null,
    disk: info?.disk ?? null,
    sandboxes: info?.sandboxes ?? null,
  }
}

function sumUp(statuses: readonly AgentStatus[]): 'ok' | 'degraded' | 'unreachable' {
  if (statuses.every((status) => status === 'unreachable')) return 'unreachable'
  return statuses.every((status) => status === 'ok') ? 'ok' : 'degraded'
}

/**
 * `refusing` if at least one agent refuses new objects, although others may accept them. Ignores agents that are
 * unreachable or do not report their disk.
 */
function worstDisk(states: readonly DiskState[]): DiskState {
  return diskState.options.findLast((state) => states.includes(state)) ?? 'ok'
}
