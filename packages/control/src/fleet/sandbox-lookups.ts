import { statement } from '../platform/db/statement.ts'
import { isHeld } from './copy-statements.ts'
import { sandboxColumns, type SandboxRow, VISIBLE_TO_TENANTS } from './sandbox-row.ts'

/** Finds a sandbox by id and workspace, never by id alone: this is the tenant check. */
export const sandboxOfWorkspace = statement<SandboxRow, [id: string, workspaceId: string]>(
  'sandbox-of-workspace',
  `select ${sandboxColumns()} from sandboxes where id = $1 and workspace_id = $2 and ${VISIBLE_TO_TENANTS}`,
)

/** The same, of what is needed to forward a request. */
export const locationOfSandbox = statement<
  Pick<SandboxRow, 'id' | 'workspace_id' | 'agent_id' | 'status' | 'managed_by'> & { readonly is_held: boolean },
  [id: string, workspaceId: string]
>(
  'location-of-sandbox',
  `select id, workspace_id, agent_id, status, managed_by, ${isHeld('sandboxes.id')} as is_held
   from sandboxes where id = $1 and workspace_id = $2 and ${VISIBLE_TO_TENANTS}`,
)

/**
 * Rows for several requests. Each row belongs to one of the workspaces. The caller must give a row only to a request
 * from the same workspace.
 */
export const sandboxesOfWorkspaces = statement<SandboxRow, [ids: readonly string[], workspaceIds: readonly string[]]>(
  'sandboxes-of-workspaces',
  `select ${sandboxColumns()} from sandboxes where id = any($1) and workspace_id = any($2) and ${VISIBLE_TO_TENANTS}`,
)
