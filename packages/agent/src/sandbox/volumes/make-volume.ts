import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import { runProgram } from '../../machine/host/run-program.ts'
import { isDiskFull } from '../../store/data-dir/full-disk.ts'
import type { Host, HostStore } from '../model/host.ts'
import { quiesced } from './quiesced.ts'
import { makeExt4 } from '../../machine/disks/ext4.ts'
import { admitVolume } from '../../store/volumes/headroom.ts'
import type { Holder } from '../../store/volumes/holders.ts'
import type { VolumeRecord } from '../../store/volumes/volume-record.ts'

/** Milliseconds to create a file system of the maximum size. */
const MAKE_MS = 60_000
/** Milliseconds to copy a volume: gigabytes on a slow disk. */
const COPY_MS = 300_000

/** Creates an empty volume, durably. @throws ApiError 409 id taken, 507 */
export async function makeVolume(store: HostStore, record: VolumeRecord): Promise<VolumeRecord> {
  const deadline = Deadline.after(MAKE_MS, `volume ${record.id}`)
  return admitted(store, record, (path) => makeExt4(path, deadline))
}

/**
 * Copies another volume as it is at one instant. If a sandbox writes to it, the copy contains what its guest has synced. The
 * agent makes a running guest sync first, and stops it during the copy.
 * @throws ApiError 409 id taken or the volume is being changed, 507
 */
export async function copyVolume(host: Host, source: VolumeRecord, record: VolumeRecord): Promise<VolumeRecord> {
  const deadline = Deadline.after(COPY_MS, `copy of volume ${source.id}`)
  const copy = (path: string) => runCopy(host.store.volumes.path(source.id), path, deadline)
  return admitted(host.store, record, async (path) => {
    const [hold] = host.store.volumes.holders.of(source.id)
    const writer =
      hold && 'sandboxId' in hold.holder && !hold.isReadOnly ? host.sandboxes.get(hold.holder.sandboxId) : null
    if (writer) return quiesced(host, writer, async () => copy(path))
    const holder: Holder = { work: 'copied' }
    host.store.volumes.holders.claim([{ volume: source, isReadOnly: true }], holder)
    try {
      await copy(path)
    } finally {
      host.store.volumes.holders.release(holder)
    }
  })
}

async function admitted(
  { volumes, room }: HostStore,
  record: VolumeRecord,
  fill: (path: string) => Promise<void>,
): Promise<VolumeRecord> {
  await room.admit('volume')
  await admitVolume(volumes.folder, await volumes.promisedMib(), record.size_mb)
  try {
    return await volumes.make(record, fill)
  } catch (error) {
    if (isDiskFull(error)) throw new ApiError('insufficientStorage', {}, { cause: error })
    throw error
  }
}

/** Copies sparsely, and shares blocks if the host's file system can. The agent grows the copy before its first use. */
async function runCopy(from: string, to: string, deadline: Deadline): Promise<void> {
  await runProgram('cp', ['--reflink=auto', '--sparse=always', '--no-preserve=all', from, to], deadline)
}
