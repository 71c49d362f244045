import { chmod, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { removeTree } from '../data-dir/folders.ts'

/** The files of an ended build. */
const KEPT_FILES: ReadonlySet<string> = new Set(['build.json', 'log.jsonl'])

/** The files of one build: `builds/ID`. Only the agent can access them, except `vm/`. */
export interface BuildFiles {
  /** The upload, unchanged. */
  readonly upload: string
  /** The decompressed upload, if it was compressed. */
  readonly flat: string
  readonly rootfs: string
  /** For a build from a sandbox's disk: hard links to the files that the disk consists of (`source-disk.ts`). */
  readonly source: string
  /** For a build from a sandbox's disk: all layers above the root file system, merged into one. */
  readonly lower: string
  readonly log: string
}

export function buildFiles(folder: string): BuildFiles {
  return {
    upload: join(folder, 'upload'),
    flat: join(folder, 'flat'),
    source: join(folder, 'source'),
    lower: join(folder, 'lower.qcow2'),
    rootfs: join(folder, 'rootfs.ext4'),
    log: join(folder, 'log.jsonl'),
  }
}

/** Names of the folders of builds. */
export async function listBuilds(folder: string): Promise<string[]> {
  return readdir(folder)
}

/** Lets every user read an unpacked root file system, for VMs of the template, and deletes the decompressed upload. */
export async function finishUnpacking({ rootfs, flat }: BuildFiles): Promise<void> {
  await chmod(rootfs, 0o444)
  for (const path of [flat, `${flat}.layers`]) await removeTree(path)
}

/** Deletes the files of an ended build, except its record and its log. */
export async function removeLargeFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (!KEPT_FILES.has(name)) await removeTree(join(folder, name))
}
