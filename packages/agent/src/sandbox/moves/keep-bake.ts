import { chmod, mkdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { StreamHeader } from '@offshoot/contract/move-stream'
import type { Deadline } from '@offshoot/kit/deadline'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { createLayer } from '../../machine/disks/qcow2.ts'
import { UntrustedLayer, validateLayer } from '../../machine/disks/validate-layer.ts'
import { bakeFileOf, IMPORTED, pathInBake, writeBakeContent } from '../../store/bakes/bake-content.ts'
import { bakeFiles, LOWER, ROOTFS } from '../../store/bakes/bake-files.ts'
import { readBakeManifest } from '../../store/bakes/bake-manifest.ts'
import { allocatedBytes } from '../../store/data-dir/disk-usage.ts'
import { isPresent } from '../../store/ledger/is-present.ts'
import { MoveDamaged } from '../../store/moves/move-damaged.ts'
import type { HostStore } from '../model/host.ts'
import { verifyArrived } from './arriving-files.ts'

/**
 * Verifies the files of a bake that arrived with a sandbox or snapshot, and gives the bake its name, unless this host has it by now. No
 * template names it: only this one, later ones that come with the same bake, and what is made from them.
 * @throws MoveDamaged
 */
export async function keepBake(
  store: HostStore,
  folder: string,
  { bake: { hash }, files: all }: StreamHeader,
  deadline: Deadline,
): Promise<void> {
  const files = all.filter(({ name }) => bakeFileOf(name) !== null)
  for (const file of files) await verifyArrived(store, file, pathInBake(folder, file))
  const { disk, lower, rootfs, overlay, manifest } = bakeFiles(folder)
  const read = await readBakeManifest(manifest)
  if (read.state !== 'present') throw new MoveDamaged('the record of the bake is invalid')
  const hasLower = await isPresent(lower)
  await validateDisk(disk, hasLower ? lower : null)
  const place = join(store.dir.bakes, IMPORTED, hash)
  const below = `../../../bakes/${IMPORTED}/${hash}/disk.qcow2`
  await createLayer(overlay, { path: below, format: 'qcow2', bytes: (await stat(rootfs)).size }, deadline)
  await chmod(overlay, 0o600)
  await store.bakeContents.seal(overlay)
  const paths = files.map((file) => pathInBake(folder, file))
  await writeBakeContent(folder, { hash, disk_bytes: await allocatedBytes(paths), files })
  await mkdir(join(store.dir.bakes, IMPORTED), { recursive: true, mode: 0o711 })
  await syncFolder(store.dir.bakes)
  await rename(folder, place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  await syncFolder(join(store.dir.bakes, IMPORTED))
}

const RAW = { path: ROOTFS, format: 'raw' } as const

/** The layers of a bake are opened by the names in their headers. */
async function validateDisk(disk: string, lower: string | null): Promise<void> {
  if (lower !== null) await validateLower(lower)
  await validate(disk, lower === null ? RAW : { path: LOWER, format: 'qcow2' })
}

/** Of a bake or of a template. @throws MoveDamaged */
export async function validateLower(lower: string): Promise<void> {
  await validate(lower, RAW)
}

async function validate(layer: string, below: Parameters<typeof validateLayer>[1]): Promise<void> {
  try {
    await validateLayer(layer, below)
  } catch (error) {
    if (error instanceof UntrustedLayer) throw new MoveDamaged('a layer of the disk is invalid', { cause: error })
    throw error
  }
}
