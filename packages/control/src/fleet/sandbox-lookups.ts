import { statement } from '../platform/db/statement.ts'
import { sandboxColumns, type SandboxRow, SEEN } from './sandbox-row.ts'

/** The one way a request reaches a sandbox by id when its credential is not an API key: id and workspace, never id alone. */
export const sandboxOfWorkspace = statement<SandboxRow, [id: string, workspaceId: string]>(
  'sandbox-of-workspace',
  `select ${sandboxColumns()} from sandboxes where id = $1 and workspace_id = $2 and ${SEEN}`,
)

/**
 * Rows for several requests. Each row belongs to one of the workspaces, and it is the caller's to give it to nobody but who asked
 * from there.
 */
export const sandboxesOfWorkspaces = statement<SandboxRow, [ids: readonly string[], workspaceIds: readonly string[]]>(
  'sandboxes-of-workspaces',
  `select ${sandboxColumns()} from sandboxes where id = any($1) and workspace_id = any($2) and ${SEEN}`,
)
