import { open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileOfLayer, type LayerId } from '../../store/disks/layer-id.ts'

/**
 * Puts a new, empty layer into a VM's folder, as a copy of its bake's. QEMU may be running there: nothing that it has
 * put in the way is followed.
 */
export async function addActiveLayer(folder: string, id: LayerId, empty: string, uid: number | null): Promise<void> {
  const path = join(folder, fileOfLayer(id))
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(await readFile(empty))
    if (uid !== null) await file.chown(uid, uid)
  } catch (error) {
    await unlink(path).catch(() => undefined)
    throw error
  } finally {
    await file.close()
  }
}
