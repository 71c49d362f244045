import { join, resolve } from 'node:path'
import { imagesDir } from '../../setup/offshoot.ts'

/** The programs of a version. */
export interface Release {
  readonly up: string
  /** Folder of the images, and of the bundled services. */
  readonly images: string
}

export const PRESENT: Release = { up: resolve(import.meta.dirname, '../../../bin/up'), images: imagesDir }

/** OFFSHOOT_FLEET_EARLIER: a checkout of another version, whose images are built. `null`: there is none. */
export const EARLIER = at(process.env['OFFSHOOT_FLEET_EARLIER'])

function at(root: string | undefined): Release | null {
  return root === undefined ? null : { up: join(root, 'bin/up'), images: join(root, '.offshoot/images') }
}
