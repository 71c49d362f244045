import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { runCommand } from '../base/run-command.ts'
import type { RunAsRoot } from './image-root.ts'
import type { OwnerOfPath, RootFolder } from './root-folder.ts'

const SMALL_DISK_MIB = 512
/** Blocks of 4096 bytes. */
const BLOCKS_PER_MIB = 256

/**
 * Makes a sparse raw ext4 image of a folder. The options suit a disk that is cloned and whose VM may be killed at any
 * moment:
 * - A journal, so that the file system survives a kill, but a nearly minimal one.
 * - Tables marked as zeroed (a sparse file reads as zeros), so that no guest zeroes them in the background.
 * - No blocks reserved for root, because the guest's user is root.
 *
 * @param size MiB of the file system, and of the device that it may grow to
 */
export async function makeExt4(
  root: RootFolder,
  image: string,
  { diskMib, deviceMib }: { readonly diskMib: number; readonly deviceMib?: number | undefined },
  deadline: Deadline,
  run: RunAsRoot = runCommand,
): Promise<void> {
  const journalMib = diskMib < SMALL_DISK_MIB ? 4 : 16
  const format = `-q -t ext4 -L root -m 0 -b 4096 -J size=${journalMib}`
  const zeroed = '-E assume_storage_prezeroed=1,lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0'
  // Reserve metadata to grow to the device's size and no further. Each growth step writes the reserved blocks through
  // the small journal.
  const growth = deviceMib === undefined ? '' : `,resize=${deviceMib * BLOCKS_PER_MIB}`
  const args = [...format.split(' '), ...`${zeroed}${growth}`.split(' '), '-d', root.path, image, `${diskMib}M`]
  await run('mke2fs', args, { deadline })
  if (root.owners !== 'as-is') await setOwners(root.path, root.owners, image, deadline)
}

/** Sets owners inside the image, which needs no root. */
async function setOwners(folder: string, ownerOf: OwnerOfPath, image: string, deadline: Deadline): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const commands = entries.map((entry) => {
    const path = `/${relative(folder, join(entry.parentPath, entry.name))}`
    const owner = ownerOf(path)
    return `sif "${path}" uid ${owner}\nsif "${path}" gid ${owner}\n`
  })
  await runCommand('debugfs', ['-w', '-f', '-', image], { deadline, input: commands.join('') })
}
