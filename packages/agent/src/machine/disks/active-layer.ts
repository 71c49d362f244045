import { open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { fileOfLayer, type LayerId } from '../../store/disks/layer-id.ts'

/**
 * Adds a new, empty layer to a VM's folder, as a copy of the bake's empty layer. QEMU may be running there, so the agent
 * follows no link in that folder.
 * @param isDurable the disk outlives its VM: waits until the layer is on the host's disk. QEMU syncs it only when the guest
 *   syncs for the first time, and a power cut before that would leave an empty file as a layer of the disk
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
