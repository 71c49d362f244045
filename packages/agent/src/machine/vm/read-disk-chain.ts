import type { Deadline } from '@offshoot/kit/deadline'
import type { QmpClient } from '@offshoot/qmp/client'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { layerOfNode, type LayerId } from '../../store/disks/layer-id.ts'

interface BlockStats {
  readonly 'node-name'?: string
  readonly backing?: BlockStats
}

/**
 * The chain as QEMU has it, which is the truth about a VM that another agent process left behind.
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
