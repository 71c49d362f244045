import type { LayerId } from './layer-id.ts'

/** The layers of one VM's disk, above the disk of its bake. */
export interface DiskChain {
  /** The layer that QEMU writes, a file in the VM's folder. */
  readonly active: LayerId
  /** The frozen layers below it, lowest first. */
  readonly layers: readonly LayerId[]
}

/** Maximum frozen layers of a disk. With more of them, a capture flattens the disk first, because QEMU holds a descriptor for each. */
export const MAX_LAYERS = 64

/**
 * The chain of a VM of an earlier agent process, if QEMU's report is possible. That agent recorded each chain before it changed
 * the disk. So QEMU has the recorded chain, or the one before: without the recorded active layer, or with lower layers that it
 * has flattened since. A layer that was never recorded would be another VM's.
 * @returns `null` if QEMU reports any other chain
 */
export function trustedChain(noted: DiskChain, reported: DiskChain): DiskChain | null {
  const possible = [noted, { active: noted.layers.at(-1), layers: noted.layers.slice(0, -1) }]
  const chain = possible.find(({ active }) => active === reported.active)
  if (chain?.active === undefined) return null
  const kept = chain.layers.filter((id) => reported.layers.includes(id))
  return kept.join() === reported.layers.join() ? { active: chain.active, layers: kept } : null
}
