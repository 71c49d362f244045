import { parseBuildId } from '@offshoot/contract/ids'
import { listBakedNames, removeBakesBut } from '../../store/bakes/bake-files.ts'
import type { Host } from '../model/host.ts'

/**
 * Deletes the bakes of built templates that were deleted, once no sandbox, snapshot or spare uses them. Must not run before
 * the agent knows all sandboxes.
 */
export async function sweepBakes(host: Host): Promise<void> {
  // An unreadable record may name any bake.
  if (!host.store.ledger.isComplete('sandbox', 'snapshot', 'template')) return
  const { dir, templates } = host.store
  const ids = (await listBakedNames(dir.bakes)).flatMap((name) => parseBuildId(name) ?? [])
  const used = new Set(bakesInUse(host))
  for (const id of ids) {
    if (templates.find(id, null) !== null || templates.isBeingBuilt(id)) continue
    await removeBakesBut(dir.bakes, id, used)
  }
}

/** Runs a sweep in the background, after a deletion. The reconciliation retries a failed one. */
export function sweepBakesSoon(host: Host): void {
  sweepBakes(host).catch((error: unknown) => host.log.warn({ err: error }, 'sweep of bakes failed'))
}

function* bakesInUse({ sandboxes, pool, store: { snapshots } }: Host): Generator<string> {
  for (const { manifest } of sandboxes.values()) yield manifest.bake
  for (const { bake } of snapshots.all) yield bake
  for (const { seed } of pool.spares) yield seed.manifest.bake
}
