import type { BuildId, SnapshotId } from '@offshoot/contract/ids'
import type { Host } from '../model/host.ts'
import { sweepLayersSoon } from '../cleanup/sweep-layers.ts'
import { sweepBakesSoon } from '../cleanup/sweep-bakes.ts'

/** Deletes a template, also an unfinished one. Idempotent. Bakes and layers that existing sandboxes use are kept. */
export async function deleteTemplate(host: Host, id: BuildId): Promise<void> {
  await host.store.templates.delete(id)
  await host.pool.forget((bake) => bake.startsWith(`${id}/`))
  const snapshot = await host.store.snapshots.find(id as string as SnapshotId, null)
  if (snapshot !== null) await host.store.snapshots.delete(snapshot)
  sweepLayersSoon(host)
  sweepBakesSoon(host)
}
