import { join } from 'node:path'

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
