import { ApiError } from '@offshoot/contract/errors'
import type { VolumeId } from '@offshoot/contract/ids'
import { Deadline } from '@offshoot/kit/deadline'
import { checkExt4, growExt4, type ToolPlace } from '../../machine/disks/ext4.ts'
import type { VolumeRecord } from '../../store/volumes/volume-record.ts'
import type { Volumes } from '../../store/volumes/volumes.ts'

/** Milliseconds to check the file system of a large volume. */
const CHECK_MS = 60_000

/** Preparations in progress. Concurrent readers of a volume share one, so that the volume is checked once. */
const inProgress = new Map<VolumeId, Promise<void>>()

/**
 * Prepares a volume for a guest that has claimed it: grows the file to its recorded size, and checks and repairs the file system.
 * @param place in the slot of the guest's own VM
 * @throws ApiError 500 it could not be repaired
 */
export async function prepareVolume(volumes: Volumes, record: VolumeRecord, place: ToolPlace): Promise<void> {
  const { id } = record
  const other = inProgress.get(id)
  if (other !== undefined) return other
  const isFirst = volumes.holders.of(id).length === 1
  const preparing = prepare(volumes, record, place, isFirst).finally(() => inProgress.delete(id))
  inProgress.set(id, preparing)
  return preparing
}

async function prepare(volumes: Volumes, record: VolumeRecord, place: ToolPlace, isFirst: boolean): Promise<void> {
  const { id, name, is_growing } = record
  try {
    if (isFirst) {
      await volumes.stretch(record)
      const deadline = Deadline.after(CHECK_MS, `check of volume ${id}`)
      await (is_growing ? growExt4 : checkExt4)(volumes.path(id), place, deadline)
    }
    if (!record.was_attached || (isFirst && is_growing)) {
      await volumes.change(id, { was_attached: true, ...(isFirst && { is_growing: false }) })
    }
  } catch (error) {
    throw new ApiError('internal', { error: `volume ${name} could not be checked`, volume: name }, { cause: error })
  }
}
