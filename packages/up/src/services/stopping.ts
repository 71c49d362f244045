import type { ServiceName } from './running-record.ts'

/**
 * The signal that ends each service, and its time limit. SIGINT is PostgreSQL's fast shutdown: it closes sessions and
 * writes all data.
 */
export const STOPPING: Readonly<Record<ServiceName, { readonly signal: NodeJS.Signals; readonly withinMs: number }>> = {
  agent: { signal: 'SIGTERM', withinMs: 12_000 },
  e2b: { signal: 'SIGTERM', withinMs: 12_000 },
  edge: { signal: 'SIGTERM', withinMs: 12_000 },
  control: { signal: 'SIGTERM', withinMs: 12_000 },
  postgres: { signal: 'SIGINT', withinMs: 20_000 },
}

/** From the outside in: the gateway, edge and control finish their requests, for which they need the other services. */
export const STOP_ORDER: readonly ServiceName[] = ['e2b', 'edge', 'control', 'agent', 'postgres']
