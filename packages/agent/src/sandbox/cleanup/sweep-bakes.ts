import { parseBuildId } from '@offshoot/contract/ids'
import { listBakedNames, removeBakesBut } from '../../store/bakes/bake-files.ts'
import type { Host } from '../model/host.ts'

/**
 * Removes the bakes of built templates that are no more, once no sandbox, snapshot or waiting guest was made from them. Those
 * of a template that is kept, or is being built, stay. Only once all sandboxes are known.
 */
export async function sweepBakes(host: Host): Promise<void> {
  // A record that cannot be read may name any bake.
  if (!host.store.ledger.isComplete('sandbox', 'snapshot', 'template')) return
  const { dir, templates } = host.store
  const ids = (await listBakedNames(dir.bakes)).flatMap((name) => parseBuildId(name) ?? [])
  const used = new Set(bakesInUse(host))
  for (const id of ids) {
    if (templates.find(id, null) !== null || templates.isBeingBuilt(id)) continue
    await removeBakesBut(dir.bakes, id, used)
  }
}

/** After something was removed; what cannot be swept now is swept by the reconciliation. */
export function sweepBakesSoon(host: Host): void {
  sweepBakes(host).catch((error: unknown) => host.log.warn({ err: error }, 'bakes not swept'))
}

function* bakesInUse({ sandboxes, pool, store: { snapshots } }: Host): Generator<string> {
  for (const { manifest } of sandboxes.values()) yield manifest.bake
  for (const { bake } of snapshots.all) yield bake
  for (const { seed } of pool.spares) yield seed.manifest.bake
}
