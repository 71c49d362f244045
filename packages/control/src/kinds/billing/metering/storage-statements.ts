import { statement } from '../../../platform/db/statement.ts'

/**
 * Workspaces whose volumes exceed their plan by another amount than their meter says. A plan that is not listed
 * includes all volumes.
 *
 * @param included JSON: `[{plan, mib}]`
 */
export const strayStorage = statement<{ workspace_id: string; excess_mib: number }, [included: string]>(
  'stray-storage',
  `select w.workspace_id, w.excess_mib from (
     select coalesce(v.workspace_id, m.id) as workspace_id, greatest(0, coalesce(v.mib, 0) - p.mib)::bigint as excess_mib,
       case when m.state = 'storage' then m.memory_mib else 0 end as metered_mib
     from (select workspace_id, sum(size_mb) as mib from volumes where status = 'ready' group by workspace_id) v
     full join (select * from meters where kind = 'storage') m on m.id = v.workspace_id
     left join workspace_accounts a on a.workspace_id = coalesce(v.workspace_id, m.id)
     left join jsonb_to_recordset($1) as p (plan text, mib bigint) on p.plan = a.plan
   ) w where coalesce(w.excess_mib, 0) <> w.metered_mib
   limit 1000`,
)

/** Sets the size that the storage meter uses from its next transition on. */
export const resizeStorage = statement<never, [workspaceId: string, mib: number]>(
  'resize-storage',
  `insert into meters (id, kind, workspace_id, cpu, memory_mib) values ($1, 'storage', $1, 0, $2)
   on conflict (id) do update set memory_mib = excluded.memory_mib`,
)
