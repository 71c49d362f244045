import { open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from './sync-folder.ts'

/**
 * Replaces a file atomically: after a crash, readers find the old or the new content, never a mixture. Writes a
 * temporary file, syncs it, renames it, and syncs the folder.
 */
export async function writeFileDurably(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const beside = `${path}.${process.pid}.new`
  try {
    const file = await open(beside, 'w', mode)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(beside, path)
  } catch (error) {
    await unlink(beside).catch(() => undefined)
    throw error
  }
  await syncFolder(dirname(path))
}
