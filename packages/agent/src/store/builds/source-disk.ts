import { chmod, chown, mkdir, readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOTFS } from '../bakes/bake-files.ts'
import { linkOrCopy } from '../disks/link-or-copy.ts'

/** Hard-links a root file system and the layers above it, the lowest first, into a new folder. */
export async function linkSourceDisk(folder: string, rootfs: string, layers: readonly string[]): Promise<void> {
  await mkdir(folder, { mode: 0o700 })
  await linkOrCopy(rootfs, join(folder, ROOTFS))
  for (const [index, path] of layers.entries()) {
    await linkOrCopy(path, join(folder, `${String(index).padStart(4, '0')}.qcow2`))
  }
}

/** The files that {@link linkSourceDisk} has linked: the root file system, then the layers, the lowest first. */
export async function readSourceDisk(folder: string): Promise<{ readonly files: string[]; readonly bytes: number }> {
  const layers = (await readdir(folder)).filter((name) => name !== ROOTFS).toSorted()
  const files = [ROOTFS, ...layers].map((name) => join(folder, name))
  return { files, bytes: (await stat(join(folder, ROOTFS))).size }
}

/** Takes a merged layer from the user who wrote it, and moves it to its place. Every user may read it then. */
export async function keepMergedLayer(made: string, lower: string, uid: number | null): Promise<void> {
  if (uid !== null) await chown(made, 0, 0)
  await chmod(made, 0o444)
  await rename(made, lower)
}
