import { join } from 'node:path'

/** The files of one checkpoint; none is ever written again. All are root's: QEMU gets descriptors. */
export interface CheckpointFiles {
  /** Pages of the guest's memory that differ from the bake's, one after the other. */
  readonly pages: string
  /** Which pages they are (`page-runs.ts`). */
  readonly runs: string
  /** Devices. */
  readonly state: string
  /** Written last: without it the folder is no checkpoint. */
  readonly manifest: string
}

export function checkpointFiles(folder: string): CheckpointFiles {
  return {
    pages: join(folder, 'pages'),
    runs: join(folder, 'runs'),
    state: join(folder, 'state'),
    manifest: join(folder, 'checkpoint.json'),
  }
}
