import { readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Makes `folder`, which exists, a folder of images with links to those of `imagesDir`. @param without is left to the caller */
export async function linkImages(imagesDir: string, folder: string, without: string): Promise<void> {
  for (const name of await readdir(imagesDir))
    if (name !== without) await symlink(join(imagesDir, name), join(folder, name))
}
