import { join } from 'node:path'
import { parseLayerId, type LayerId } from '../../store/disks/layer-id.ts'
import type { Host } from '../model/host.ts'

/**
 * Retires every frozen layer of a disk that no VM, no sandbox and no snapshot needs any more. Only once all of them are
 * known: not before the recovery is over, and not while an object that may name layers is of no use.
 */
export async function sweepLayers(host: Host): Promise<void> {
  if (host.store.ledger.neededLayers() === null) return
  const strays = await host.store.layers.sweep(() => neededLayers(host))
  for (const name of strays)
    await host.store.ledger.setAside(
      'other',
      name,
      join(host.store.dir.layers, name),
      'it is no layer, and lies where layers are',
    )
}

/** After something was removed; what cannot be swept now is swept by the reconciliation. */
export function sweepLayersSoon(host: Host): void {
  sweepLayers(host).catch((error: unknown) => host.log.warn({ err: error }, 'layers not swept'))
}

function* neededLayers({ sandboxes, store: { snapshots, ledger } }: Host): Generator<LayerId> {
  for (const layer of ledger.neededLayers() ?? []) {
    const id = parseLayerId(layer)
    if (id !== null) yield id
  }
  yield* snapshots.layers()
  for (const { manifest, vm, lost } of sandboxes.values()) {
    yield* manifest.layers
    if (lost !== null) yield* lost.layers
    if (vm?.disk) yield* vm.disk.layers
  }
}
