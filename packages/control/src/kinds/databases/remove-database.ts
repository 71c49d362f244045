import type { Remover } from '../../fleet/agent-or-retired.ts'
import { removeSandbox } from '../sandboxes/model/remove-sandbox.ts'
import { sandboxById, sandboxesManagedBy } from '../sandboxes/model/sandbox-statements.ts'
import { removeSnapshot } from '../sandboxes/snapshots/remove-snapshot.ts'
import { backupsOfDatabase } from './backup-statements.ts'
import { removeDatabaseRow } from './database-statements.ts'

/**
 * Removes the VM with all data and the backups first, then the rows, so that the rows stay as long as something may be
 * left on an unreachable agent.
 * @throws ApiError 502
 */
export async function removeDatabase(remover: Remover, id: string, requestId: string): Promise<void> {
  const { pool } = remover.database
  const [sandbox] = await sandboxById(pool, id)
  if (sandbox !== undefined) await removeSandbox(remover, sandbox, requestId)
  for (const verification of await sandboxesManagedBy(pool, 'proof', id))
    await removeSandbox(remover, verification, requestId)
  for (const backup of await backupsOfDatabase(pool, id)) await removeSnapshot(remover, backup, requestId)
  await removeDatabaseRow(pool, id)
}
