import { join } from 'node:path'
import { parseLayerId, type LayerId } from '../../store/disks/layer-id.ts'
import type { Host } from '../model/host.ts'

/**
 * Retires every frozen layer that no VM, sandbox or snapshot needs any more. Must not run before the recovery is over: all
 * sandboxes must be known. Does nothing while a record that may name layers is unreadable.
 */
export async function sweepLayers(host: Host): Promise<void> {
  if (host.store.ledger.neededLayers() === null) return
  const strays = await host.store.layers.sweep(() => neededLayers(host))
  for (const name of strays)
    await host.store.ledger.setAside(
      'other',
      name,
      join(host.store.dir.layers, name),
      'a file in the folder of layers is not a layer',
    )
}

/** Runs a sweep in the background, after a deletion. The reconciliation retries a failed one. */
export function sweepLayersSoon(host: Host): void {
  sweepLayers(host).catch((error: unknown) => host.log.warn({ err: error }, 'sweep of layers failed'))
}

function* neededLayers({ sandboxes, pool, zygotes, arrivals, store: { snapshots, ledger } }: Host): Generator<LayerId> {
  for (const layer of ledger.neededLayers() ?? []) {
    const id = parseLayerId(layer)
    if (id !== null) yield id
  }
  yield* snapshots.layers()
  for (const { layers } of arrivals.all) yield* layers
  for (const { zygote } of zygotes.all) yield* zygote.layers
  for (const { vm } of pool.spares) yield* vm.disk?.layers ?? []
  for (const { manifest, vm, lost } of sandboxes.values()) {
    yield* manifest.layers
    if (lost !== null) yield* lost.layers
    if (vm?.disk) yield* vm.disk.layers
  }
}
