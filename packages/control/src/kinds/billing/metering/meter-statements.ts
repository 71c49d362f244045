import { PRICE_MONTH_SECONDS, PRICES } from '@offshoot/contract/price'
import { statement } from '../../../platform/db/statement.ts'

/**
 * Inserts meters of new sandboxes. Size and workspace come from the sandbox's row, or from the agent's first record if
 * the row is already gone.
 *
 * @param sandboxes JSON: `[{id, workspace_id, template, cpu, memory_mib}]`, where all but the id may be `null`
 */
export const openMeters = statement<never, [sandboxes: string]>(
  'open-meters',
  `insert into meters (id, kind, workspace_id, template, cpu, memory_mib, managed_by, managed_id)
   select distinct on (r.id) r.id, 'sandbox', coalesce(s.workspace_id, r.workspace_id), coalesce(s.template, r.template),
     coalesce(s.cpu, r.cpu), coalesce(s.memory_mb, r.memory_mib), s.managed_by, s.managed_id
   from jsonb_to_recordset($1) as r (id uuid, workspace_id uuid, template text, cpu integer, memory_mib integer)
   left join sandboxes s on s.id = r.id
   where coalesce(s.workspace_id, r.workspace_id) is not null and coalesce(s.cpu, r.cpu) is not null
     and coalesce(s.memory_mb, r.memory_mib) is not null
   order by r.id, r.cpu nulls last
   on conflict (id) do nothing`,
)

/** Locks the meters while their charges are posted. The fixed order prevents deadlocks. */
export const lockMeters = statement<{ id: string }, [ids: readonly string[]]>(
  'lock-meters',
  'select id from meters where id = any($1) order by id for update',
  { isPlannedAnew: true },
)

/**
 * Adds transitions at the current prices. Skips known ones.
 *
 * @param transitions JSON: `[{id, at, state}]`
 * @returns the new transitions
 */
export const addTransitions = statement<{ meter_id: string; at: Date }, [transitions: string]>(
  'add-transitions',
  `insert into meter_transitions (meter_id, at, state, cpu, micro_usd_per_month)
   select m.id, r.at, r.state, case r.state when 'running' then m.cpu else 0 end, round(case r.state
     when 'running' then m.cpu * ${PRICES.cpu}::numeric + m.memory_mib * ${PRICES.memoryGib}::numeric / 1024
     when 'paused' then m.memory_mib * ${PRICES.memoryGib}::numeric / 1024
     when 'hibernated' then m.memory_mib * ${PRICES.hibernatedGib}::numeric / 1024
     when 'storage' then m.memory_mib * ${PRICES.volumeGib}::numeric / 1024
     else 0 end)
   from jsonb_to_recordset($1) as r (id uuid, at timestamptz(3), state text) join meters m on m.id = r.id
   on conflict (meter_id, at) do nothing returning meter_id, at`,
)

/** Whole seconds between two moments. Both are truncated to the second, so that adjacent intervals add up. */
const SECONDS = (from: string, to: string) =>
  `greatest(0, floor(extract(epoch from ${to})) - floor(extract(epoch from ${from})))::bigint`

/**
 * Makes the ledger match the transitions, for the intervals that new transitions begin, end or split. For each interval
 * and day it posts the difference between what it should cost and what was posted. The sum therefore depends only on
 * the set of transitions, not on their order or on repetitions.
 */
export const postCharges = statement<never, [meterIds: readonly string[], ats: readonly Date[]]>(
  'post-charges',
  `with new as (
     select meter_id, min(at) as at from unnest($1::uuid[], $2::timestamptz[]) as t (meter_id, at) group by meter_id
   ), first as (
     select new.meter_id, m.workspace_id, coalesce((
       select max(t.at) from meter_transitions t where t.meter_id = new.meter_id and t.at < new.at), new.at) as at
     from new join meters m on m.id = new.meter_id
   ), span as materialized (
     select t.meter_id, first.workspace_id, t.at as began_at, lead(t.at) over of_meter as ended_at, t.state, t.cpu,
       t.micro_usd_per_month
     from first join meter_transitions t on t.meter_id = first.meter_id and t.at >= first.at
     window of_meter as (partition by t.meter_id order by t.at)
   ), due as (
     select meter_id, workspace_id, began_at, day::date as day, state, seconds, seconds * cpu as cpu_seconds,
       round(seconds * micro_usd_per_month / ${PRICE_MONTH_SECONDS}.0)::bigint as micro_usd
     from span,
       generate_series(date_trunc('day', began_at at time zone 'UTC'), ended_at at time zone 'UTC', '1 day') as day,
       lateral (select ${SECONDS(`greatest(began_at at time zone 'UTC', day)`, `least(ended_at at time zone 'UTC', day + interval '1 day')`)} as seconds) s
     where ended_at is not null and state <> 'ended' and seconds > 0
   ), posted as (
     select l.meter_id, l.workspace_id, l.began_at, l.day, l.state, max(l.revision) as revision,
       sum(l.seconds) as seconds, sum(l.cpu_seconds) as cpu_seconds, sum(l.micro_usd) as micro_usd
     from first join ledger l on l.meter_id = first.meter_id and l.began_at >= first.at
     group by l.meter_id, l.workspace_id, l.began_at, l.day, l.state
   ), owed as (
     select meter_id, began_at, day, coalesce(d.workspace_id, p.workspace_id) as workspace_id,
       coalesce(d.state, p.state) as state, coalesce(p.revision + 1, 0) as revision,
       coalesce(d.seconds, 0) - coalesce(p.seconds, 0) as seconds,
       coalesce(d.cpu_seconds, 0) - coalesce(p.cpu_seconds, 0) as cpu_seconds,
       coalesce(d.micro_usd, 0) - coalesce(p.micro_usd, 0) as micro_usd
     from due d full join posted p using (meter_id, began_at, day)
   ), added as (
     insert into ledger (meter_id, began_at, day, revision, workspace_id, state, seconds, cpu_seconds, micro_usd)
     select meter_id, began_at, day, revision, workspace_id, state, seconds, cpu_seconds, micro_usd
     from owed where seconds <> 0 or micro_usd <> 0
     returning workspace_id, day, micro_usd, cpu_seconds
   ), latest as (
     update meters set state = t.state, since = t.began_at, micro_usd_per_month = t.micro_usd_per_month
     from span t where t.meter_id = meters.id and t.ended_at is null
   )
   insert into usage_months as u (workspace_id, month, micro_usd, cpu_seconds)
   select workspace_id, date_trunc('month', day)::date as month, sum(micro_usd), sum(cpu_seconds) from added
   group by workspace_id, month order by workspace_id, month
   on conflict (workspace_id, month) do update
     set micro_usd = u.micro_usd + excluded.micro_usd, cpu_seconds = u.cpu_seconds + excluded.cpu_seconds`,
  { isPlannedAnew: true },
)

/**
 * Open meters whose sandbox does not run, or is gone without a record of its agent, with the state that they should
 * have.
 */
export const strayMeters = statement<{ id: string; state: string }, [olderThanSeconds: number, limit: number]>(
  'stray-meters',
  `select m.id, w.state from meters m left join sandboxes s on s.id = m.id,
     lateral (select case when s.id is null or s.status = 'failed' then 'ended' else s.status end as state) w
   where m.kind = 'sandbox' and m.state <> 'ended' and w.state not in (m.state, 'creating')
     and m.since < now() - make_interval(secs => $1) limit $2`,
)
