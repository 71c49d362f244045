import type pg from 'pg'
import { Gauge, type Registry } from 'prom-client'
import { briefCache } from '../http/brief-cache.ts'
import { countJobs } from './job-statements.ts'

/** Milliseconds for which the counts are cached. */
const FRESH_MS = 1_000

/** Adds the number of jobs by task and state, and how late the oldest due job of each task is. */
export function addJobMetrics(registry: Registry, pool: pg.Pool): void {
  const latest = briefCache(FRESH_MS, () => countJobs(pool).catch(() => []))
  const jobs = new Gauge({
    name: 'offshoot_jobs',
    help: 'Jobs by task and state',
    labelNames: ['task', 'state'],
    registers: [registry],
    async collect() {
      jobs.reset()
      for (const { task, state, count } of await latest()) jobs.set({ task, state }, count)
    },
  })
  const late = new Gauge({
    name: 'offshoot_job_lateness_seconds',
    help: 'Seconds for which the oldest job of a task has been due without having begun',
    labelNames: ['task'],
    registers: [registry],
    async collect() {
      late.reset()
      const seconds = new Map<string, number>()
      for (const row of await latest()) {
        seconds.set(row.task, Math.max(seconds.get(row.task) ?? 0, row.late_seconds))
      }
      for (const [task, value] of seconds) late.set({ task }, value)
    },
  })
}
