import type { ReconcileOptions } from './agent-hooks.ts'
import { removeArtifact } from './artifact-calls.ts'
import {
  leaveMissingArtifact,
  noteFound,
  noteMissing,
  type ReconcileRow,
  removeArtifactHost,
  setArtifactHostReady,
} from './artifact-host-statements.ts'
import type { Artifact } from './artifact.ts'
import { orLog } from './or-log.ts'
import type { Removable } from './reconcile-brake.ts'

/** What the reconciliations of all kinds of artifacts do with the rows of a host. */

/** Seconds for which a copy from another host may last. */
export const COPY_SECONDS = 4 * 3600

/** The host has the artifact of the row. */
export async function settlePresent(
  { pool, agentId }: ReconcileOptions,
  { id, is_ready: isReady, is_copy: isCopy, is_missing: isMissing }: ReconcileRow,
): Promise<void> {
  if (isMissing) await noteFound(pool, id, agentId)
  if (isCopy && !isReady) await setArtifactHostReady(pool, id, agentId)
}

/** Deletes what the host has and no row names, if the brake allows it. */
export async function deleteStrays(
  { client, agentId, log, brake }: ReconcileOptions,
  kind: Artifact['kind'],
  strays: readonly Removable[],
  requestId: string,
): Promise<void> {
  for (const { id, workspace_id } of await brake.deletable(kind, strays)) {
    log.warn({ agent: agentId, [kind]: id }, `${kind} of a removed row: deleting it`)
    await orLog(log, { agent: agentId, [kind]: id }, removeArtifact(client, { id, kind, workspace_id, requestId }))
  }
}

/**
 * The host does not have the artifacts of these rows, which were ready.
 * @returns those that nothing else has
 */
export async function settleLost(
  { pool, agentId, log }: ReconcileOptions,
  kind: Artifact['kind'],
  lost: readonly ReconcileRow[],
): Promise<ReconcileRow[]> {
  const nowhere: ReconcileRow[] = []
  for (const row of lost) {
    if (row.is_copy) await removeArtifactHost(pool, row.id, agentId)
    else if (row.is_missing) continue
    else if ((await keptElsewhere(pool, row.id, agentId)) === null) nowhere.push(row)
    else log.warn({ agent: agentId, [kind]: row.id }, `${kind} lost by its host: a copy is elsewhere`)
  }
  return nowhere
}

/** @returns `null`: nothing else has it */
async function keptElsewhere(pool: ReconcileOptions['pool'], id: string, agentId: string): Promise<string | null> {
  const [moved] = await leaveMissingArtifact(pool, id, agentId)
  const [kept] = moved === undefined ? await noteMissing(pool, id, agentId) : [moved]
  return kept?.id ?? null
}

/**
 * The host may still be receiving the artifact of an abandoned row. Afterwards, nothing of it is there. A home that gets it
 * again may as well have found it, so nothing is removed there.
 */
export async function endCopy(
  { pool, client, agentId, log }: ReconcileOptions,
  kind: Artifact['kind'],
  { id, workspace_id, is_missing: isHome }: ReconcileRow,
  requestId: string,
): Promise<void> {
  const end = async () => {
    if (!isHome) await removeArtifact(client, { id, kind, workspace_id, requestId })
    await removeArtifactHost(pool, id, agentId)
  }
  await orLog(log, { agent: agentId, [kind]: id }, end())
}
