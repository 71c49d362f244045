import { join } from 'node:path'

/** The files of one build: `builds/ID`, ours alone but for `vm/`. */
export interface BuildFiles {
  /** What was uploaded, as it came. */
  readonly upload: string
  /** The same without compression, its layers one after the other; only where that is needed. */
  readonly flat: string
  readonly rootfs: string
  readonly log: string
}

export function buildFiles(folder: string): BuildFiles {
  return {
    upload: join(folder, 'upload'),
    flat: join(folder, 'flat'),
    rootfs: join(folder, 'rootfs.ext4'),
    log: join(folder, 'log.jsonl'),
  }
}
