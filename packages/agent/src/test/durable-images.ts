import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { linkImages } from './link-images.ts'

/** A folder of images with the templates `minimal` and `durable`, which is the same and durable, as those of databases are. */
export async function imagesWithDurable(imagesDir: string, folder: string): Promise<string> {
  await mkdir(join(folder, 'templates/durable'), { recursive: true })
  await linkImages(imagesDir, folder, 'templates')
  const minimal = join(imagesDir, 'templates/minimal')
  await symlink(minimal, join(folder, 'templates/minimal'))
  const image = JSON.parse(await readFile(join(minimal, 'template.json'), 'utf8')) as object
  const durable = join(folder, 'templates/durable')
  await writeFile(join(durable, 'template.json'), JSON.stringify({ ...image, name: 'durable', durable: true }))
  // No link: a bake gets a hard link to this file, which QEMU opens in its jail.
  await copyFile(join(minimal, 'rootfs.ext4'), join(durable, 'rootfs.ext4'))
  return folder
}
