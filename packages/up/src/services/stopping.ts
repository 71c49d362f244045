import type { ServiceName } from './running-record.ts'

/** How each service is asked to end and how long it gets. PostgreSQL's SIGINT is its fast shutdown: sessions are cut, everything is written. */
export const STOPPING: Readonly<Record<ServiceName, { readonly signal: NodeJS.Signals; readonly withinMs: number }>> = {
  agent: { signal: 'SIGTERM', withinMs: 12_000 },
  edge: { signal: 'SIGTERM', withinMs: 12_000 },
  control: { signal: 'SIGTERM', withinMs: 12_000 },
  postgres: { signal: 'SIGINT', withinMs: 20_000 },
}

/** From the outside in: edge and control finish the requests they have, for which they need the others. */
export const STOP_ORDER: readonly ServiceName[] = ['edge', 'control', 'agent', 'postgres']
