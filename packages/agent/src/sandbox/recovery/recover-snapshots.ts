import type { Host } from '../model/host.ts'
import { sweepLayers } from '../cleanup/sweep-layers.ts'

/** At the start of an agent, when its sandboxes are known: what was never finished goes, forks' that no child names, and what no template is. */
export async function recoverSnapshots(host: Host): Promise<void> {
  const used = new Set([...host.sandboxes.values()].map(({ manifest }) => manifest.from_snapshot))
  for (const record of host.snapshots.all) {
    if (record.origin === 'fork' && !used.has(record.id)) await host.snapshots.delete(record)
    if (record.origin === 'template' && !host.templates.all.some(({ id }) => (id as string) === record.id)) {
      await host.snapshots.delete(record)
    }
  }
  await host.snapshots.removeUnfinished()
  await sweepLayers(host)
}
