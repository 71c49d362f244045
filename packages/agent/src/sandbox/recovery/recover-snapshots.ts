import type { Host } from '../model/host.ts'
import { sweepLayers } from '../cleanup/sweep-layers.ts'

/**
 * At the agent's start, after the sandboxes are recovered: deletes unfinished snapshots, snapshots of forks that no child names,
 * and those of deleted templates. A sandbox or template with an unreadable record may name any snapshot.
 */
export async function recoverSnapshots(host: Host): Promise<void> {
  const used = new Set([...host.sandboxes.values()].map(({ manifest }) => manifest.from_snapshot))
  const { ledger } = host.store
  for (const record of host.store.snapshots.all) {
    if (record.origin === 'fork' && ledger.isComplete('sandbox') && !used.has(record.id))
      await host.store.snapshots.delete(record)
    if (
      record.origin === 'template' &&
      ledger.isComplete('template') &&
      !host.store.templates.all.some(({ id }) => (id as string) === record.id)
    ) {
      await host.store.snapshots.delete(record)
    }
  }
  await host.store.snapshots.settleUnrecorded()
  await sweepLayers(host)
}
