import { REMOVABLE } from '../../../fleet/removable.ts'
import { statement } from '../../../platform/db/statement.ts'
import { sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/**
 * Claims sandboxes that no row refers to. Deployments and instances store the id of their sandbox before it is created,
 * so a sandbox in creation never looks like an orphan.
 */
export const claimUnnamed = statement<SandboxRow, [limit: number, agents: readonly string[], leaseSeconds: number]>(
  'claim-unnamed-sandboxes',
  `with due as materialized (
     select id as due_id from sandboxes
     where managed_by = 'app' and ${REMOVABLE} and coalesce(deletion_due_at, '-infinity') <= now()
       and not exists (select from app_deployments d where d.sandbox_id = sandboxes.id)
       and not exists (select from app_instances i where i.id = sandboxes.id)
     limit $1 for update skip locked
   )
   update sandboxes set deletion_due_at = now() + make_interval(secs => $3) from due where id = due_id
   returning ${sandboxColumns()}`,
)
