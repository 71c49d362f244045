import type { Logger } from 'pino'
import { pruneArchive } from '../../fleet/archive-calls.ts'
import type { Remover } from '../../fleet/agent-or-retired.ts'
import { sandboxById } from '../sandboxes/model/sandbox-statements.ts'
import { type BackupRow, oldestBackup } from './backup-statements.ts'
import { dropSegments } from './stored-archives/stored-archive-statements.ts'

/** Milliseconds of tolerance for clock differences and for the duration of a snapshot. */
const MARGIN_MS = 600_000

/** Files that were archived before that time are not needed to recover from the backup. */
export function neededSince({ created_at: createdAt }: Pick<BackupRow, 'created_at'>): Date {
  return new Date(createdAt.getTime() - MARGIN_MS)
}

/** Removes archived files that no backup needs. After a failure, the next backup tries again. */
export async function pruneDatabaseArchive(
  { fleet, database: { pool }, log }: Remover & { readonly log: Logger },
  databaseId: string,
  requestId: string,
): Promise<void> {
  const [machine] = await sandboxById(pool, databaseId)
  const agent = machine === undefined ? undefined : fleet.byId(machine.agent_id)
  if (machine === undefined || agent === undefined) return
  const [oldest] = await oldestBackup(pool, databaseId)
  const before = neededSince(oldest ?? { created_at: new Date() })
  await dropSegments(pool, databaseId, before)
  const subject = { id: databaseId, workspaceId: machine.workspace_id, requestId }
  await pruneArchive(agent.client, subject, before).catch((err: unknown) =>
    log.warn({ err, req_id: requestId, database: databaseId }, 'archive not pruned'),
  )
}
