import type { ReconcileOptions } from '../../fleet/agent-hooks.ts'
import { orLog } from '../../fleet/or-log.ts'
import { deleteOnAgent, listOnAgent, VOLUME_TIMEOUT_MS } from '../../fleet/volume-calls.ts'
import { removeCreatingVolume, removeVolumeRow, setVolumeReady, volumeRowsOfAgent } from './volume-statements.ts'

/**
 * Compares an agent's volumes with the rows that refer to the agent. As for snapshots, it reads the rows before and
 * after the list. A `creating` row becomes `ready` if the agent has the volume, and is removed if it was abandoned. The
 * agent's sizes win.
 *
 * A volume without a row is deleted only if the brake allows it and no sandbox has ever attached it. Any other volume
 * may contain data that its owner wants back, so it stays.
 *
 * @returns the number of abandoned rows that were removed
 */
export async function reconcileVolumes(
  { pool, client, agentId, log, brake }: ReconcileOptions,
  requestId: string,
): Promise<number> {
  const readRows = () => volumeRowsOfAgent(pool, agentId, VOLUME_TIMEOUT_MS / 1000)
  const before = await readRows()
  const { volumes, unreadable } = await listOnAgent(client, null, requestId)
  const listed = new Set([...volumes.map(({ id }) => id), ...unreadable])
  const after = new Map((await readRows()).map((row) => [row.id, row]))
  for (const { id, size_mb: sizeMb, was_attached: wasAttached } of volumes) {
    const row = after.get(id)
    if (row !== undefined) {
      if (row.status === 'creating' || row.size_mb < sizeMb) await setVolumeReady(pool, id, sizeMb)
    } else if (wasAttached) log.error({ agent: agentId, volume: id }, 'volume without a row: left alone')
  }
  const strays = volumes.filter(({ id, was_attached: wasAttached }) => !after.has(id) && !wasAttached)
  for (const { id, workspace_id: workspaceId } of await brake.deletable('volume', strays)) {
    log.warn({ agent: agentId, volume: id }, 'volume of a removed row, never attached: deleting it')
    await orLog(log, { agent: agentId, volume: id }, deleteOnAgent(client, { id, workspaceId, requestId }))
  }
  const lost = before.filter((row) => row.status === 'ready' && !listed.has(row.id))
  for (const { id } of brake.forgettable('volume', lost)) {
    const [removed] = await removeVolumeRow(pool, id)
    if (removed) log.error({ agent: agentId, volume: id }, 'row without a volume: removed')
  }
  const abandoned = [...after.values()].filter((row) => row.status === 'creating' && row.is_abandoned)
  const givenUp = abandoned.filter(({ id }) => !listed.has(id))
  for (const { id } of givenUp) await removeCreatingVolume(pool, id)
  return givenUp.length
}
