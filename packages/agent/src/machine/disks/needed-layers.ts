import { readFile, stat } from 'node:fs/promises'
import type { LayerId } from '../../store/disks/layer-id.ts'
import type { Vm } from '../vm/vm.ts'

/**
 * Returns the frozen layers that another VM with the same disk needs. Each fork adds a layer to the parent's disk, even if the guest
 * has written nothing since the last fork. Without this, the QEMU of each child would open all of them, one after the other.
 */
export function neededLayers({ disk, emptyLayers }: Pick<Vm, 'disk' | 'emptyLayers'>): readonly LayerId[] {
  return (disk?.layers ?? []).filter((id) => !emptyLayers.has(id))
}

/**
 * Tells whether a guest has written nothing to a layer, which no QEMU writes any more: QEMU enlarges its file with the first write.
 * @param empty the file that each layer is at first
 * @returns `false` also if one of them cannot be read
 */
export async function isEmptyLayer(path: string, empty: string): Promise<boolean> {
  try {
    const [{ size }, { size: emptySize }] = await Promise.all([stat(path), stat(empty)])
    if (size !== emptySize) return false
    const [content, emptyContent] = await Promise.all([readFile(path), readFile(empty)])
    return content.equals(emptyContent)
  } catch {
    return false
  }
}
