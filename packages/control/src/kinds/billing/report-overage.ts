import { PRICE_MONTH_SECONDS, PRICES } from '@offshoot/contract/price'
import type { Logger } from 'pino'
import type { Database } from '../../platform/db/database.ts'
import { statement } from '../../platform/db/statement.ts'
import { usageByState } from './metering/usage-query.ts'
import type { Payments } from './model/payments.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The payment provider refuses reports of earlier days. */
const MAX_DAYS = 33
/** Price of one MiB of volumes for one hour, in micro-dollars. */
const MIB_HOUR_MICRO_USD = (PRICES.volumeGib * 3600) / PRICE_MONTH_SECONDS / 1024

interface Options {
  readonly database: Database
  readonly payments: Payments | null
  readonly log: Logger
}

/** Subscribers with volumes or with recorded days, and the last day that was recorded (`YYYY-MM-DD`). */
export const subscribers = statement<{ workspace_id: string; last_day: string | null }, []>(
  'overage-subscribers',
  `select a.workspace_id, (select max(o.day)::text from overage_days o where o.workspace_id = a.workspace_id) as last_day
   from workspace_accounts a where a.customer_id is not null and a.plan_source = 'subscription'
     and (exists (select from meters m where m.id = a.workspace_id and m.kind = 'storage')
       or exists (select from overage_days o where o.workspace_id = a.workspace_id))`,
)

/** A day without overage counts as reported. */
export const recordDay = statement<never, [workspaceId: string, day: string, mibHours: number]>(
  'record-overage-day',
  `insert into overage_days (workspace_id, day, mib_hours, reported_at) values ($1, $2, $3, case $3::bigint when 0 then now() end)
   on conflict do nothing`,
)

export const unreportedDays = statement<
  { workspace_id: string; customer_id: string; day: string; mib_hours: number },
  [firstDay: string]
>(
  'unreported-overage-days',
  `select o.workspace_id, a.customer_id, o.day::text, o.mib_hours from overage_days o
   join workspace_accounts a on a.workspace_id = o.workspace_id
   where o.reported_at is null and o.day >= $1::date and a.customer_id is not null order by o.day limit 1000`,
  { notNull: ['customer_id'] },
)

export const markReported = statement<never, [workspaceId: string, day: string]>(
  'mark-overage-reported',
  'update overage_days set reported_at = now() where workspace_id = $1 and day = $2::date',
)

/**
 * Reports to the payment provider how much the volumes exceeded their plan, for each day (UTC) that has ended. It
 * catches up on days on which no process ran. Every process runs it: each day is recorded once, and the provider
 * refuses a second report of it.
 */
export async function reportOverage({ database, payments, log }: Options, now = Date.now()): Promise<void> {
  if (payments === null || !payments.reportsOverage) return
  const { pool } = database
  // Just after midnight, the meters of yesterday are not settled yet.
  const today = dayOf(now - HOUR_MS)
  const yesterday = addDays(today, -1)
  for (const { workspace_id: workspaceId, last_day: lastDay } of await subscribers(pool)) {
    const first = lastDay === null ? yesterday : addDays(lastDay, 1)
    const oldest = addDays(today, -MAX_DAYS)
    for (let day = first < oldest ? oldest : first; day < today; day = addDays(day, 1)) {
      await recordDay(pool, workspaceId, day, await mibHoursOf(database, workspaceId, day))
    }
  }
  for (const { workspace_id: workspaceId, customer_id: customer, day, mib_hours: mibHours } of await unreportedDays(
    pool,
    addDays(today, -MAX_DAYS),
  )) {
    try {
      await payments.reportOverage(customer, workspaceId, day, mibHours)
      await markReported(pool, workspaceId, day)
    } catch (error) {
      log.warn({ err: error, workspace: workspaceId, day }, 'overage not reported: the next run tries again')
    }
  }
}

async function mibHoursOf({ db }: Database, workspaceId: string, day: string): Promise<number> {
  const states = await usageByState(db, { workspaceId, from: day, to: addDays(day, 1) })
  const cost = states.find(({ state }) => state === 'storage')?.cost_micro_usd ?? 0
  return Math.round(cost / MIB_HOUR_MICRO_USD)
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function addDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * DAY_MS)
}
