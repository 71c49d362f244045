import { constants } from 'node:os'
import { GuestFileError } from '@offshoot/guest-link/guest-file-error'
import type { Deadline } from '@offshoot/kit/deadline'
import { makeExt4 } from '../../machine/disks/ext4.ts'
import { createSparseFile } from '../../store/disks/sparse-file.ts'
import { removeTree } from '../../store/data-dir/folders.ts'
import type { Host } from '../model/host.ts'
import { BuildFailure } from '../../store/builds/build-failure.ts'
import type { BuildLog } from '../../store/builds/build-log.ts'
import type { ReadArchive } from '../../store/builds/read-archive.ts'
import { ARCHIVE_DEVICE, DISK_DEVICE, withUnpackVm, type UnpackVm } from './unpack-vm.ts'

const MIB = 1024 * 1024
/** Disk bytes per inode. mke2fs would make half as many inodes, but images have many small files. */
const BYTES_PER_INODE = 8192
/** Progress of the whole build at the begin and end of unpacking, in percent. */
const FROM_PERCENT = 10
const TO_PERCENT = 60

/** Creates an ext4 disk of the requested size and unpacks the layers onto it. @throws BuildFailure naming the entry */
export async function unpackLayers(
  host: Host,
  vm: Omit<UnpackVm, 'archive'>,
  archive: ReadArchive,
  sizeMib: number,
  log: BuildLog,
  deadline: Deadline,
): Promise<void> {
  await makeDisk(vm.disk, sizeMib, deadline)
  const totalBytes = archive.layers.reduce((sum, { bytes }) => sum + bytes, 0)
  let before = 0
  let entries = 0
  let leftOut = 0
  await withUnpackVm(host, { ...vm, archive: archive.path }, deadline, async (link) => {
    for (const { offset, bytes } of archive.layers) {
      const layer = { source: ARCHIVE_DEVICE, offset, bytes, disk: DISK_DEVICE, hasWhiteouts: archive.hasWhiteouts }
      const unpacked = await link.files
        .layer(layer, { deadline }, (taken) => tellProgress(log, before + taken, totalBytes))
        .catch((error: unknown) => {
          throw error instanceof GuestFileError ? new BuildFailure(explain(error, sizeMib), { cause: error }) : error
        })
      before += bytes
      entries += unpacked.entries
      leftOut += unpacked.leftOut
    }
  })
  log.say(`${entries} entries unpacked`, 'unpacking', TO_PERCENT)
  if (leftOut > 0) log.say(`${leftOut} device nodes left out: every sandbox has its own /dev`)
}

async function makeDisk(path: string, sizeMib: number, deadline: Deadline): Promise<void> {
  await removeTree(path)
  await createSparseFile(path, sizeMib * MIB)
  await makeExt4(path, deadline, BYTES_PER_INODE)
}

function tellProgress(log: BuildLog, taken: number, total: number): void {
  const percent = FROM_PERCENT + ((TO_PERCENT - FROM_PERCENT) * taken) / Math.max(1, total)
  if (percent >= log.percent + 1)
    log.say(`${Math.round(taken / MIB)} of ${Math.round(total / MIB)} MiB`, 'unpacking', percent)
}

const { EXDEV, EBADMSG, ENOSPC, EPROTONOSUPPORT, ELOOP, ENAMETOOLONG, E2BIG } = constants.errno
const REASONS: Readonly<Record<number, string>> = {
  [EXDEV]: 'the name leads out of the image',
  [EBADMSG]: 'the archive is cut short or damaged, or no tar archive',
  [EPROTONOSUPPORT]: 'sparse files of this kind are not known; make the archive without --sparse',
  [ELOOP]: 'too many links on the way there',
  [ENAMETOOLONG]: 'the name is too long',
  [E2BIG]: 'its extended header is too long',
}

/** The guest's messages have the form `ENTRY: ERROR`. */
function explain({ errno, message }: GuestFileError, sizeMib: number): string {
  const at = message.lastIndexOf(': ')
  const entry = at === -1 ? message : message.slice(0, at)
  const reason =
    errno === ENOSPC
      ? `no room left on a disk of ${sizeMib} MiB (size_mb)`
      : (REASONS[errno] ?? (at === -1 ? 'failed' : message.slice(at + 2)))
  return `${entry}: ${reason}`
}
