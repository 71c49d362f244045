import { join } from 'node:path'
import { parseBuildId } from '@offshoot/contract/ids'
import { IMPORTED, listImported } from '../../store/bakes/bake-content.ts'
import { listBakedNames, removeBake, removeBakesBut } from '../../store/bakes/bake-files.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import type { Host } from '../model/host.ts'

/**
 * Deletes the bakes of built templates that were deleted, and those of other hosts, once no sandbox, snapshot or spare uses
 * them. Must not run before the agent knows all sandboxes.
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
  await sweepImported(host)
}

/** Keeps the folder of all of them, and looks again before each removal: a sandbox may be arriving. */
async function sweepImported(host: Host): Promise<void> {
  const { bakes } = host.store.dir
  for (const hash of await listImported(bakes)) {
    const bake = `${IMPORTED}/${hash}`
    if (!new Set(bakesInUse(host)).has(bake)) await removeBake(join(bakes, bake))
  }
}

/** Whether the end of a sandbox may leave its bake without a user. Those of the host's own templates stay. */
export function mayEndBake({ bake }: Pick<Manifest, 'bake'>): boolean {
  const name = bake.split('/', 1)[0] ?? ''
  return name === IMPORTED || parseBuildId(name) !== null
}

/** Runs a sweep in the background, after a deletion. The reconciliation retries a failed one. */
export function sweepBakesSoon(host: Host): void {
  sweepBakes(host).catch((error: unknown) => host.log.warn({ err: error }, 'sweep of bakes failed'))
}

function* bakesInUse({ sandboxes, pool, arrivals, store: { snapshots } }: Host): Generator<string> {
  for (const { manifest } of sandboxes.values()) yield manifest.bake
  for (const { bake } of arrivals.all) if (bake !== null) yield bake
  yield* snapshots.bakes()
  for (const { seed } of pool.spares) yield seed.manifest.bake
}
