import type { BuildId, SnapshotId } from '@offshoot/contract/ids'
import type { Host } from '../model/host.ts'
import { sweepLayersSoon } from '../cleanup/sweep-layers.ts'
import { sweepBakesSoon } from '../cleanup/sweep-bakes.ts'

/** No sandbox is made from it from here on; what those need that there are stays. Idempotent, also for what was never finished. */
export async function deleteTemplate(host: Host, id: BuildId): Promise<void> {
  await host.templates.delete(id)
  await host.pool.forget((bake) => bake.startsWith(`${id}/`))
  const snapshot = await host.snapshots.find(id as string as SnapshotId, null)
  if (snapshot !== null) await host.snapshots.delete(snapshot)
  sweepLayersSoon(host)
  sweepBakesSoon(host)
}
