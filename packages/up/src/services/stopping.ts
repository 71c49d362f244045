import type { ServiceName } from './running-record.ts'

/** How each service is asked to end and how long it gets. PostgreSQL's SIGINT is its fast shutdown: sessions are cut, everything is written. */
export const STOPPING: Readonly<Record<ServiceName, { readonly signal: NodeJS.Signals; readonly withinMs: number }>> = {
  agent: { signal: 'SIGTERM', withinMs: 12_000 },
  control: { signal: 'SIGTERM', withinMs: 12_000 },
  postgres: { signal: 'SIGINT', withinMs: 20_000 },
}

/** From the outside in: control finishes the requests it has, for which it needs the others. */
export const STOP_ORDER: readonly ServiceName[] = ['control', 'agent', 'postgres']
