import { open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { fileOfLayer, type LayerId } from '../../store/disks/layer-id.ts'

/**
 * Puts a new, empty layer into a VM's folder, as a copy of its bake's. QEMU may be running there: nothing that it has
 * put in the way is followed.
 * @param isDurable the disk outlives its VM: this waits until the layer is on the host's disk. QEMU syncs it when the guest first
 *   does, and after a power cut before that the disk would have an empty file for a layer
 */
export async function addActiveLayer(
  folder: string,
  id: LayerId,
  { empty, uid, isDurable }: { readonly empty: string; readonly uid: number | null; readonly isDurable: boolean },
): Promise<void> {
  const path = join(folder, fileOfLayer(id))
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(await readFile(empty))
    if (uid !== null) await file.chown(uid, uid)
    if (isDurable) await file.sync()
  } catch (error) {
    await unlink(path).catch(() => undefined)
    throw error
  } finally {
    await file.close()
  }
  if (isDurable) await syncFolder(folder)
}
