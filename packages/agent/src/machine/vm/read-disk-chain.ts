import type { Deadline } from '@offshoot/kit/deadline'
import type { QmpClient } from '@offshoot/qmp/client'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { layerOfNode, type LayerId } from '../../store/disks/layer-id.ts'

interface BlockStats {
  readonly 'node-name'?: string
  readonly backing?: BlockStats
}

/** Reads the disk chain of QEMU. @throws Error if the agent does not know such a chain */
export async function readDiskChain(qmp: QmpClient, deadline: Deadline): Promise<DiskChain> {
  const devices = await qmp.execute('query-blockstats', {}, deadline)
  const [active, ...below] = devices.map(layersOf).find((chain) => chain.length > 0) ?? []
  if (active === undefined) throw new Error('QEMU has no disk of the agent')
  return { active, layers: below.toReversed() }
}

/** Walks down from the top to the lowest layer. */
function layersOf(stats: BlockStats): LayerId[] {
  const layers: LayerId[] = []
  for (let node: BlockStats | undefined = stats; node !== undefined; node = node.backing) {
    const id = layerOfNode(node['node-name'] ?? '')
    if (id === null) break
    layers.push(id)
  }
  return layers
}
