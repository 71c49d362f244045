import { PRICE_MONTH_SECONDS } from '@offshoot/contract/price'
import { MAX_USAGE_GROUPS, type UsageGrouping } from '@offshoot/contract/usage'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MeterState } from './meter-state.ts'

export interface UsageRange {
  readonly workspaceId: string
  /** First day (UTC), `YYYY-MM-DD`. */
  readonly from: string
  /** The day after the last one that counts. */
  readonly to: string
}

export interface UsageRow {
  readonly running_seconds: number
  readonly paused_seconds: number
  readonly hibernated_seconds: number
  readonly storage_seconds: number
  readonly cpu_seconds: number
  readonly cost_micro_usd: number
}

export interface StateRow {
  readonly state: MeterState
  readonly seconds: number
  readonly cpu_seconds: number
  readonly cost_micro_usd: number
}

/**
 * A workspace's usage by meter, day and state: the posted charges plus the current part of open intervals, calculated
 * as it will be posted.
 */
function entries({ workspaceId, from, to }: UsageRange): RawBuilder<unknown> {
  return sql`
    select meter_id, day, state, seconds, cpu_seconds, micro_usd from ledger
    where workspace_id = ${workspaceId} and day >= ${from}::date and day < ${to}::date
    union all
    select m.id, day::date, m.state, seconds, case m.state when 'running' then seconds * m.cpu else 0 end,
      round(seconds * m.micro_usd_per_month / ${sql.lit(PRICE_MONTH_SECONDS)}::numeric)::bigint
    from (select *, since at time zone 'UTC' as began from meters
          where workspace_id = ${workspaceId} and state <> 'ended') m,
      (select least(now() at time zone 'UTC', ${to}::timestamp) as ends) till,
      generate_series(date_trunc('day', greatest(m.began, ${from}::timestamp)), till.ends, '1 day') as day,
      lateral (select greatest(0, floor(extract(epoch from least(till.ends, day + interval '1 day')))
        - floor(extract(epoch from greatest(m.began, day))))::bigint as seconds) s
    where s.seconds > 0`
}

const sumOf = (state: MeterState) =>
  sql`coalesce(sum(e.seconds) filter (where e.state = ${sql.lit(state)}), 0)::bigint as ${sql.ref(`${state}_seconds`)}`

const SUMS = sql`${sql.join([sumOf('running'), sumOf('paused'), sumOf('hibernated'), sumOf('storage')])},
  coalesce(sum(e.cpu_seconds), 0)::bigint as cpu_seconds, coalesce(sum(e.micro_usd), 0)::bigint as cost_micro_usd`

const KEYS: Readonly<Record<UsageGrouping, RawBuilder<unknown>>> = {
  sandbox: sql`case m.kind when 'sandbox' then m.id::text end`,
  template: sql`m.template`,
  app: sql`case m.managed_by when 'app' then m.managed_id::text end`,
  database: sql`case m.managed_by when 'database' then m.managed_id::text end`,
  day: sql`to_char(e.day, 'YYYY-MM-DD')`,
}

export async function usageTotal(db: Kysely<never>, range: UsageRange): Promise<UsageRow> {
  const { rows } = await sql<UsageRow>`select ${SUMS} from (${entries(range)}) e`.execute(db)
  const [total] = rows
  if (total === undefined) throw new Error('a sum gave no row')
  return total
}

export async function usageGroups(
  db: Kysely<never>,
  range: UsageRange,
  by: UsageGrouping,
): Promise<readonly (UsageRow & { readonly key: string | null })[]> {
  const order = by === 'day' ? sql`key` : sql`cost_micro_usd desc, key`
  const { rows } = await sql<UsageRow & { key: string | null }>`
    select ${KEYS[by]} as key, ${SUMS} from (${entries(range)}) e join meters m on m.id = e.meter_id
    group by 1 order by ${order} limit ${sql.lit(MAX_USAGE_GROUPS)}`.execute(db)
  return rows
}

export async function usageByState(db: Kysely<never>, range: UsageRange): Promise<readonly StateRow[]> {
  const { rows } = await sql<StateRow>`
    select e.state, sum(e.seconds)::bigint as seconds, sum(e.cpu_seconds)::bigint as cpu_seconds,
      sum(e.micro_usd)::bigint as cost_micro_usd
    from (${entries(range)}) e group by e.state having sum(e.seconds) <> 0 order by e.state`.execute(db)
  return rows
}
