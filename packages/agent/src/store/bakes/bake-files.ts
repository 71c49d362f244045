import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree } from '../data-dir/folders.ts'

/** Backing files. A layer names its backing file relative to its folder. */
export const ROOTFS = 'rootfs.ext4'
export const LOWER = 'lower.qcow2'

/** The files of one bake (ARCHITECTURE.md, `bakes/NAME/FINGERPRINT`). They never change. */
export interface BakeFiles {
  readonly memory: string
  readonly state: string
  /** The states of the volume devices, cut out of `state` (`volume-devices.ts`). */
  readonly volumesState: string
  /** A hard link (or copy) of the template's image, so that a rebuilt image cannot change under a running guest. */
  readonly rootfs: string
  /** For a template made from a sandbox's disk: a layer above `rootfs` with the data that the sandbox wrote. */
  readonly lower: string
  /** The data that the guest wrote to its root disk during the bake. */
  readonly disk: string
  /** An empty layer on top of `disk`, copied for each VM. */
  readonly overlay: string
  /** Written last: a folder without this file is an unfinished bake. */
  readonly manifest: string
}

export function bakeFiles(folder: string): BakeFiles {
  return {
    memory: join(folder, 'memory'),
    state: join(folder, 'state'),
    volumesState: join(folder, 'volumes.state'),
    rootfs: join(folder, ROOTFS),
    lower: join(folder, LOWER),
    disk: join(folder, 'disk.qcow2'),
    overlay: join(folder, 'overlay.qcow2'),
    manifest: join(folder, 'bake.json'),
  }
}

/** Names of templates that have or had bakes. */
export async function listBakedNames(bakes: string): Promise<string[]> {
  return readdir(bakes)
}

/** Deletes a template's bakes, complete or not, except those in `kept` (`NAME/FINGERPRINT`). */
export async function removeBakesBut(bakes: string, name: string, kept: ReadonlySet<string>): Promise<void> {
  const folder = join(bakes, name)
  const entries = await readdir(folder, { withFileTypes: true })
  const unused = entries.filter((entry) => !kept.has(`${name}/${entry.name}`))
  for (const entry of unused) {
    const path = join(folder, entry.name)
    // A killed agent leaves the log of its unfinished bake beside the bakes.
    await (entry.isDirectory() ? removeBake(path) : removeTree(path))
  }
  if (unused.length === entries.length) await removeTree(folder)
}

/** Removes the manifest first: from then on, there is no complete bake. */
export async function removeBake(folder: string): Promise<void> {
  await removeTree(bakeFiles(folder).manifest)
  await removeTree(folder)
}
