import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@offshoot/contract/errors'
import type { Remover } from '../../fleet/agent-or-retired.ts'
import type { RowTask } from '../../platform/jobs/task.ts'
import { removeSandbox } from '../sandboxes/model/remove-sandbox.ts'
import { sandboxesManagedBy } from '../sandboxes/model/sandbox-statements.ts'
import { deletedApp, deletedAppIds, removeAppRow } from './model/app-statements.ts'

/** Milliseconds to wait for objects of the app that were being created when it was deleted. */
const PATIENCE_MS = 30_000
const LOOK_MS = 100

/**
 * Removes the sandboxes of a deleted app, then its row. A running deployment checks the mark before each of its steps
 * and creates nothing new.
 * @throws ApiError 502; a job then completes the removal
 */
export async function removeApp(remover: Remover, id: string, requestId: string): Promise<void> {
  const { pool } = remover.database
  const endsAtMs = performance.now() + PATIENCE_MS
  for (;;) {
    for (const row of await sandboxesManagedBy(pool, 'app', id)) await removeSandbox(remover, row, requestId)
    const [removed] = await removeAppRow(pool, id)
    if (removed !== undefined) return
    // Another process has removed the row.
    if ((await sandboxesManagedBy(pool, 'app', id)).length === 0) return
    if (performance.now() > endsAtMs) throw new ApiError('agentUnreachable', { detail: 'the rest is deleted later' })
    await delay(LOOK_MS)
  }
}

/** Removes what is left of deleted apps. */
export function deletedApps(remover: Remover): RowTask {
  const { pool } = remover.database
  return {
    name: 'remove-app',
    due: (limit) => deletedAppIds(pool, limit),
    async work({ id, requestId }) {
      const [row] = await deletedApp(pool, id)
      if (row !== undefined) await removeApp(remover, id, requestId)
    },
  }
}
