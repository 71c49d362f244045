import { PRICE_MONTH_SECONDS } from '@offshoot/contract/price'
import { statement } from '../../../platform/db/statement.ts'

/** The start of the current month (UTC). */
const MONTH = `date_trunc('month', now() at time zone 'UTC')`

/** SQL for a workspace's usage this month: the posted charges plus the current part of open intervals. */
const USED = (workspace: string) => `(
  select coalesce((select u.micro_usd from usage_months u
      where u.workspace_id = ${workspace} and u.month = ${MONTH}::date), 0) + coalesce(sum(s.micro_usd), 0)::bigint as micro_usd,
    coalesce((select u.cpu_seconds from usage_months u
      where u.workspace_id = ${workspace} and u.month = ${MONTH}::date), 0) + coalesce(sum(s.cpu_seconds), 0)::bigint as cpu_seconds
  from meters m,
    lateral (select greatest(0, floor(extract(epoch from now()))
      - floor(extract(epoch from greatest(m.since, ${MONTH} at time zone 'UTC')))) as seconds) t,
    lateral (select round(t.seconds * m.micro_usd_per_month / ${PRICE_MONTH_SECONDS}) as micro_usd,
      case m.state when 'running' then t.seconds * m.cpu else 0 end as cpu_seconds) s
  where m.workspace_id = ${workspace} and m.state <> 'ended')`

/** SQL for the credit granted to a workspace this month. */
const GRANTED = (workspace: string) => `(
  select coalesce(sum(g.micro_usd), 0)::bigint as micro_usd from credit_grants g
  where g.workspace_id = ${workspace} and g.created_at >= ${MONTH} at time zone 'UTC')`

export interface MonthRow {
  readonly used_micro_usd: number
  readonly cpu_seconds: number
  /** Granted by operators, in addition to the plan's credit. */
  readonly granted_micro_usd: number
}

export const monthOf = statement<MonthRow, [workspaceId: string]>(
  'month-of',
  `select used.micro_usd as used_micro_usd, used.cpu_seconds, granted.micro_usd as granted_micro_usd
   from ${USED('$1')} used, ${GRANTED('$1')} granted`,
)

export const grantedIn = statement<{ micro_usd: number }, [workspaceId: string, from: string, to: string]>(
  'granted-in',
  `select coalesce(sum(micro_usd), 0)::bigint as micro_usd from credit_grants
   where workspace_id = $1 and created_at >= $2::timestamp at time zone 'UTC' and created_at < $3::timestamp at time zone 'UTC'`,
)

export interface AssessedRow {
  readonly workspace_id: string
  readonly used_micro_usd: number
  readonly credit_micro_usd: number
  readonly is_exhausted: boolean
  /** When the exhausted credit is renewed. */
  readonly until: Date
}

/**
 * Checks every workspace that has used something this month, or that is marked as having spent its credit, and updates
 * the mark. Returns the workspaces that have used at least `share` of their credit.
 *
 * @param plans JSON: `[{plan, micro_usd}]`, the plans with limited credit
 * @param share the share of the credit from which on a workspace is returned, e.g. 0.8
 */
export const assessCredit = statement<AssessedRow, [plans: string, share: number]>(
  'assess-credit',
  `with plan as (
     select * from jsonb_to_recordset($1) as p (plan text, micro_usd bigint)
   ), assessed as materialized (
     select a.workspace_id, used.micro_usd as used, p.micro_usd + granted.micro_usd as credit,
       a.exhausted_until is not distinct from (${MONTH} + interval '1 month') at time zone 'UTC' as was_exhausted
     from workspace_accounts a left join plan p using (plan),
       lateral ${USED('a.workspace_id')} used, lateral ${GRANTED('a.workspace_id')} granted
     where a.exhausted_until is not null or p.plan is not null and (
       exists (select from meters m where m.workspace_id = a.workspace_id and m.state <> 'ended')
       or exists (select from usage_months u where u.workspace_id = a.workspace_id and u.month = ${MONTH}::date))
   ), noted as (
     update workspace_accounts a
     set exhausted_until = case when s.used >= s.credit then (${MONTH} + interval '1 month') at time zone 'UTC' end
     from assessed s
     where s.workspace_id = a.workspace_id and s.was_exhausted is distinct from coalesce(s.used >= s.credit, false)
   )
   select workspace_id, used as used_micro_usd, credit as credit_micro_usd, used >= credit as is_exhausted,
     (${MONTH} + interval '1 month') at time zone 'UTC' as until
   from assessed where used >= credit * $2::float8`,
)

/** Returns a row if this notice was not sent this month. */
export const noteNotice = statement<{ month: string }, [workspaceId: string, percent: number]>(
  'note-notice',
  `insert into credit_notices (workspace_id, month, percent) values ($1, ${MONTH}::date, $2)
   on conflict do nothing returning to_char(month, 'YYYY-MM') as month`,
)

export const ownersOf = statement<{ email: string; workspace_name: string }, [workspaceId: string]>(
  'owners-of',
  `select u.email, o.name as workspace_name from organization o
   join member m on m."organizationId" = o.id and m.role = 'owner' join "user" u on u.id = m."userId" where o.id = $1`,
)
