import { setTimeout as delay } from 'node:timers/promises'
import type { WorkerEvents } from 'graphile-worker'
import type pg from 'pg'
import { nextDue } from './job-statements.ts'
import type { Lane } from './task.ts'

/** Milliseconds between two queries of an idle lane. */
const AHEAD_MS = 2_000

export interface LookAheadOptions {
  readonly pool: pg.Pool
  readonly lane: Lane
  readonly events: WorkerEvents
  /** Makes the engine look for due jobs. */
  readonly look: () => void
  readonly until: AbortSignal
}

/**
 * Wakes a lane when its next job is due, so that the engine need not poll so often. An idle lane costs a query each
 * {@link AHEAD_MS}, and one with work at most two each `pollMs`.
 */
export async function lookAhead({ pool, lane, events, look, until }: LookAheadOptions): Promise<void> {
  const names = lane.tasks.map(({ name }) => name)
  while (!until.aborted) {
    const added = new AbortController()
    const wake = () => added.abort()
    events.once('pool:listen:notification', wake)
    const beganMs = performance.now()
    // After a failed query, the engine looks as often as if the query had found a job. It reports what is wrong.
    const [next] = await nextDue(pool, names, AHEAD_MS).catch(() => [{ ms: lane.pollMs }])
    await delay(next?.ms ?? AHEAD_MS, undefined, { signal: AbortSignal.any([until, added.signal]) }).then(
      () => next !== undefined && look(),
      () => undefined,
    )
    events.off('pool:listen:notification', wake)
    const restMs = beganMs + lane.pollMs - performance.now()
    if (restMs > 0) await delay(restMs, undefined, { signal: until }).catch(() => undefined)
  }
}
