import type { Visibility } from '@offshoot/contract/sandbox'
import { sandboxColumns, type SandboxRow } from '../../fleet/sandbox-row.ts'
import { statement } from '../../platform/db/statement.ts'

/** Sandboxes of one call. The next run finds the others. */
const LIMIT = 256

/** Sandboxes of apps whose visibility is not that of their app: all, or those of one app and its previews. */
export const unlikeTheirApp = statement<SandboxRow & { readonly wanted: Visibility }, [appId: string | null]>(
  'sandboxes-unlike-their-app',
  `select ${sandboxColumns()}, a.visibility as wanted from sandboxes join apps a on a.id = sandboxes.managed_id
   where sandboxes.managed_by = 'app' and sandboxes.visibility <> a.visibility and sandboxes.status <> 'creating'
     and sandboxes.deletion_due_at is null and a.deletion_due_at is null
     and ($1::uuid is null or a.id = $1 or a.parent_id = $1)
   order by sandboxes.created_at limit ${LIMIT}`,
)
