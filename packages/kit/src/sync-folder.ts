import { open } from 'node:fs/promises'

/** Waits until the names in a folder are on the disk: those that were made, renamed and removed. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
