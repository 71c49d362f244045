import type { LayerId } from './layer-id.ts'

/** What one VM's disk consists of, above its bake's. */
export interface DiskChain {
  /** The layer that QEMU writes, a file in the VM's folder. */
  readonly active: LayerId
  /** The frozen layers below it, the lowest first. */
  readonly layers: readonly LayerId[]
}

/**
 * The chain of a VM that another agent process left behind. That agent noted each chain before it became what the disk is, so
 * QEMU has the noted chain, or the one before it: with the noted active layer not attached yet, or with lower layers that have
 * been flattened away since. It never has a layer that was not noted: that would be another VM's.
 * @returns `null` when QEMU says anything else
 */
export function trustedChain(noted: DiskChain, told: DiskChain): DiskChain | null {
  const possible = [noted, { active: noted.layers.at(-1), layers: noted.layers.slice(0, -1) }]
  const chain = possible.find(({ active }) => active === told.active)
  if (chain?.active === undefined) return null
  const kept = chain.layers.filter((id) => told.layers.includes(id))
  return kept.join() === told.layers.join() ? { active: chain.active, layers: kept } : null
}
