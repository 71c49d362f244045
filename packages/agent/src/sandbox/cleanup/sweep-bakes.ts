import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseBuildId } from '@offshoot/contract/ids'
import type { Host } from '../model/host.ts'

/**
 * Removes the bakes of built templates that are no more, once no sandbox, snapshot or waiting guest was made from them. Those
 * of a template that is kept, or is being built, stay. Only once all sandboxes are known.
 */
export async function sweepBakes(host: Host): Promise<void> {
  // A record that cannot be read may name any bake.
  if (!host.store.ledger.isComplete('sandbox', 'snapshot', 'template')) return
  const names = (await readdir(host.store.dir.bakes)).filter((name) => parseBuildId(name) !== null)
  const used = new Set(bakesInUse(host))
  for (const name of names) {
    const id = parseBuildId(name)
    if (id === null || host.store.templates.find(id, null) !== null || host.store.templates.isBeingBuilt(id)) continue
    const folder = join(host.store.dir.bakes, name)
    const fingerprints = await readdir(folder)
    const unused = fingerprints.filter((fingerprint) => !used.has(`${name}/${fingerprint}`))
    for (const fingerprint of unused) await rm(join(folder, fingerprint), { recursive: true, force: true })
    if (unused.length === fingerprints.length) await rm(folder, { recursive: true, force: true })
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
