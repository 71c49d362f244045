import { type PartStatus, partStatus, serviceStatus, type ServiceStatus } from '@offshoot/contract/status'
import type { FastifyInstance } from 'fastify'
import type { FleetContext } from './fleet-context.ts'
import { readCursors } from './get-healthz.ts'
import { briefCache } from '../platform/http/brief-cache.ts'

/** Milliseconds for which an answer is cached. */
const FRESH_MS = 1_000

/** Says how a part of the service is. It must not wait. */
export type Part = () => PartStatus

/**
 * `GET /v1/status`: public, for a page that says whether the service works. It answers 200 also while parts are down,
 * and names no host.
 */
export function getStatus(app: FastifyInstance, control: FleetContext, parts: Readonly<Record<string, Part>>): void {
  const latest = briefCache(FRESH_MS, async (): Promise<ServiceStatus> => {
    // Every request needs the database.
    const api = (await readCursors(control)) === null ? 'down' : 'operational'
    const others = Object.entries(parts).map(([name, part]) => [name, part()] as const)
    // The kinds have all the other parts.
    const all = { api, ...Object.fromEntries(others) } as ServiceStatus['parts']
    return { status: worst(Object.values(all)), parts: all, checked_at: new Date().toISOString() }
  })
  app.get('/v1/status', {
    config: {
      docs: { summary: 'Whether each part of the service works', tag: 'Service', status: 200, answer: serviceStatus },
    },
    handler: () => latest(),
  })
}

function worst(states: readonly PartStatus[]): PartStatus {
  const known = partStatus.exclude(['unknown']).options
  return known.findLast((state) => states.includes(state)) ?? 'unknown'
}

/**
 * How everything is that runs on agents, or what runs on agents with a template. `unknown` if all agents are reachable,
 * and none has the template: it is not made yet, or this service does not offer it.
 */
export function statusOnAgents({ fleet }: FleetContext, template?: string): PartStatus {
  const agents = fleet.agents.filter(({ isForeign }) => !isForeign)
  const able = agents.filter(
    ({ isReachable, info }) =>
      isReachable && (template === undefined || info?.templates.some(({ name }) => name === template) === true),
  )
  const areAllReachable = agents.every(({ isReachable }) => isReachable)
  if (able.length === 0) return areAllReachable && agents.length > 0 ? 'unknown' : 'down'
  const hasSpace = able.some(({ info }) => info?.disk?.state !== 'refusing')
  return hasSpace && areAllReachable ? 'operational' : 'degraded'
}
