import type { EdgeApp } from '@offshoot/contract/edge-app'
import { statement } from '../../platform/db/statement.ts'

/** The apps with the given ids, or all. */
export const edgeApps = statement<EdgeApp, [ids: readonly string[] | null]>(
  'edge-apps',
  `select a.id, a.host,
     array(select o.domain from app_domains o where o.app_id = a.id and o.verified_at is not null order by o.domain) as domains,
     (select coalesce(jsonb_object_agg(c.domain, c.fingerprint), '{}') from app_certificates c join app_domains o using (app_id, domain)
       where c.app_id = a.id and o.verified_at is not null and c.fingerprint is not null) as certificates,
     coalesce(d.port, a.port) as port,
     case when d.sandbox_id is not null then 'live'
       when exists (select from app_deployments p where p.app_id = a.id and p.status in ('queued', 'building', 'deploying'))
         then 'building'
       else 'none' end as state,
     exists (select from app_deployments p where p.app_id = a.id and p.status = 'deploying') as is_changing,
     (pg_snapshot_xmax(pg_current_snapshot())::text::bigint
       - (select count(*) from pg_snapshot_xip(pg_current_snapshot())))::float8 as as_of,
     case when d.sandbox_id is null then '{}'::text[] else array[d.sandbox_id::text] || array(
       select i.id::text from app_instances i where i.deployment_id = d.id and i.status = 'serving' order by i.created_at
     ) end as sandbox_ids,
     a.max_instances, coalesce(d.is_sticky, false) as is_sticky, a.visibility
   from apps a left join app_deployments d on d.id = a.active_deployment_id
   where a.deletion_due_at is null and ($1::uuid[] is null or a.id = any($1))`,
)
