import type { Deadline } from '@offshoot/kit/deadline'
import type { QmpClient } from '@offshoot/qmp/client'
import { layerOfNode, type LayerId } from './layer-id.ts'

/** What one VM's disk consists of, above its bake's. */
export interface DiskChain {
  /** The layer that QEMU writes, a file in the VM's folder. */
  readonly active: LayerId
  /** The frozen layers below it, the lowest first. */
  readonly layers: readonly LayerId[]
}

interface BlockStats {
  readonly 'node-name'?: string
  readonly backing?: BlockStats
}

/**
 * The chain as QEMU says. A guest that has taken over its QEMU may say anything: {@link trustedChain} holds it against what we know.
 * @throws Error when it is none of ours
 */
export async function readDiskChain(qmp: QmpClient, deadline: Deadline): Promise<DiskChain> {
  const devices = await qmp.execute('query-blockstats', {}, deadline)
  const [active, ...below] = devices.map(layersOf).find((chain) => chain.length > 0) ?? []
  if (active === undefined) throw new Error('QEMU has no disk of ours')
  return { active, layers: below.toReversed() }
}

/** From the top down, as far as the layers go. */
function layersOf(stats: BlockStats): LayerId[] {
  const layers: LayerId[] = []
  for (let node: BlockStats | undefined = stats; node !== undefined; node = node.backing) {
    const id = layerOfNode(node['node-name'] ?? '')
    if (id === null) break
    layers.push(id)
  }
  return layers
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
