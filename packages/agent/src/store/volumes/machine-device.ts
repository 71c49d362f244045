import { ApiError } from '@offshoot/contract/errors'
import { parseVolumeId, type VolumeId } from '@offshoot/contract/ids'
import { z } from 'zod'
import type { VolumeRecord } from './volume-record.ts'

/** Block devices for volumes that a guest may have at most. */
export const VOLUME_DEVICES = 8

const volumeId = z.string().transform((text, context): VolumeId => {
  const id = parseVolumeId(text)
  if (id !== null) return id
  context.addIssue({ code: 'custom', message: 'no id of a volume' })
  return z.NEVER
})

/** A block device of a sandbox's machine, which a checkpoint of it has too. */
export const machineDevice = z.object({
  place: z
    .int()
    .min(0)
    .max(VOLUME_DEVICES - 1),
  read_only: z.boolean(),
  /** `null`: it had one where it was copied from, and has none here. */
  volume: z.object({ id: volumeId, name: z.string() }).nullable(),
})
export type MachineDevice = z.infer<typeof machineDevice>

export interface Wanted {
  readonly volume: VolumeRecord
  readonly isReadOnly: boolean
}

/**
 * Devices for the volumes of a new sandbox, in their order. What the guest it is copied from had is in nobody's way: a
 * guest that still writes there must never write to another volume.
 * @throws ApiError 409 when there are not so many
 */
export function addDevices(of: readonly MachineDevice[], wanted: readonly Wanted[]): MachineDevice[] {
  const taken = new Set(of.map(({ place }) => place))
  const free = Array.from({ length: VOLUME_DEVICES }, (_, place) => place).filter((place) => !taken.has(place))
  const added = wanted.map(({ volume: { id, name }, isReadOnly }, index): MachineDevice => {
    const place = free[index]
    if (place === undefined) {
      throw new ApiError('conflict', { detail: `the snapshot's guest has ${of.length} volumes of ${VOLUME_DEVICES}` })
    }
    return { place, read_only: isReadOnly, volume: { id, name } }
  })
  return [...of, ...added]
}

/** Without what they hold: for who must not have it. */
export function emptied(devices: readonly MachineDevice[]): MachineDevice[] {
  return devices.map((device) => ({ ...device, volume: null }))
}

/** What a child has of its parent's: all may read together, and who writes is alone. */
export function inherited(devices: readonly MachineDevice[]): MachineDevice[] {
  return devices.map((device) => (device.read_only ? device : { ...device, volume: null }))
}

/** Those that hold a volume, as REFRESH names them; `undefined` where a guest need not be told. */
export function deviceBits(devices: readonly MachineDevice[]): number | undefined {
  if (devices.length === 0) return undefined
  return devices.reduce((bits, { place, volume }) => (volume === null ? bits : bits | (1 << place)), 0)
}
