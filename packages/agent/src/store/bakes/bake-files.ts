import { join } from 'node:path'

/** Layers name what lies below them in the same folder. */
export const ROOTFS = 'rootfs.ext4'
export const LOWER = 'lower.qcow2'

/** The files of one snapshot (ARCHITECTURE.md, `bakes/NAME/FINGERPRINT`); none is ever written again. */
export interface BakeFiles {
  readonly memory: string
  readonly state: string
  /** What was cut out of `state` (`volume-devices.ts`). */
  readonly volumesState: string
  /** A hard link (or copy) of the template's image, so that a rebuilt image cannot change under a running guest. */
  readonly rootfs: string
  /** Of a template that was made from a sandbox's disk: what that wrote, over `rootfs`. */
  readonly lower: string
  /** What the guest wrote on its root disk before it was frozen. */
  readonly disk: string
  /** An empty layer on top of `disk`, copied for each VM. */
  readonly overlay: string
  /** Written last: without it the folder is no snapshot. */
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
