import { type LayerId, nodeOfLayer } from '../../store/disks/layer-id.ts'
import { LAYER_DISCARD } from '../vm/machine.ts'

/** A frozen layer, for `blockdev-add`. @param backing name of the node below */
export function frozenNode(id: LayerId, filename: string, backing: string) {
  return {
    driver: 'qcow2',
    'node-name': nodeOfLayer(id),
    file: { driver: 'file', filename },
    cache: { 'no-flush': true },
    'read-only': true,
    backing,
  } as const
}

/** The layer that the guest writes, for `blockdev-add` and `blockdev-reopen`, without its file. @param backing `null`: none yet */
export function activeNode(id: LayerId, isDurable: boolean, backing: string | null) {
  return {
    driver: 'qcow2',
    'node-name': nodeOfLayer(id),
    cache: { 'no-flush': !isDurable },
    discard: LAYER_DISCARD,
    backing,
  } as const
}
