import { join } from 'node:path'

/** The files of one build: `builds/ID`, ours alone but for `vm/`. */
export interface BuildFiles {
  /** What was uploaded, as it came. */
  readonly upload: string
  /** The same without compression, its layers one after the other; only where that is needed. */
  readonly flat: string
  readonly rootfs: string
  /** Of a build from a sandbox's disk: second names of all that this consists of (`source-disk.ts`). */
  readonly source: string
  /** And what of it lies over the root file system. */
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
