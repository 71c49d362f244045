import { REMOVABLE } from '../../../fleet/removable.ts'
import { statement } from '../../../platform/db/statement.ts'
import { sandboxColumns, type SandboxRow } from '../../../fleet/sandbox-row.ts'

/**
 * Sandboxes of apps that no row refers to. Deployments and instances store the id of their sandbox before it is created,
 * so a sandbox in creation never looks like an orphan.
 */
const UNNAMED = `managed_by = 'app' and ${REMOVABLE}
  and not exists (select from app_deployments d where d.sandbox_id = sandboxes.id)
  and not exists (select from app_instances i where i.id = sandboxes.id)`

/** @param agents the reachable agents */
export const unnamedIds = statement<{ id: string }, [limit: number, agents: readonly string[]]>(
  'unnamed-sandbox-ids',
  `select id from sandboxes where ${UNNAMED} limit $1`,
)

export const unnamedSandbox = statement<SandboxRow, [id: string, agents: readonly string[]]>(
  'unnamed-sandbox',
  `select ${sandboxColumns()} from sandboxes where id = $1 and ${UNNAMED}`,
)
