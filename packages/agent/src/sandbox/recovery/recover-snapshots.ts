import type { Host } from '../model/host.ts'
import { sweepLayers } from '../cleanup/sweep-layers.ts'

/**
 * At the start of an agent, when its sandboxes are known: removes snapshots that were never finished, those of forks that no
 * child names, and those of templates that are gone. Sandboxes and templates whose records cannot be read may name any of them.
 */
export async function recoverSnapshots(host: Host): Promise<void> {
  const used = new Set([...host.sandboxes.values()].map(({ manifest }) => manifest.from_snapshot))
  const { ledger } = host
  for (const record of host.snapshots.all) {
    if (record.origin === 'fork' && ledger.isComplete('sandbox') && !used.has(record.id))
      await host.snapshots.delete(record)
    if (
      record.origin === 'template' &&
      ledger.isComplete('template') &&
      !host.templates.all.some(({ id }) => (id as string) === record.id)
    ) {
      await host.snapshots.delete(record)
    }
  }
  await host.snapshots.settleUnrecorded()
  await sweepLayers(host)
}
