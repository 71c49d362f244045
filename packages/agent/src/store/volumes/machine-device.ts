import { ApiError } from '@offshoot/contract/errors'
import { parseVolumeId, type VolumeId } from '@offshoot/contract/ids'
import { z } from 'zod'
import type { VolumeRecord } from './volume-record.ts'

/** Maximum block devices for volumes of one guest. */
export const VOLUME_DEVICES = 8

const volumeId = z.string().transform((text, context): VolumeId => {
  const id = parseVolumeId(text)
  if (id !== null) return id
  context.addIssue({ code: 'custom', message: 'not the id of a volume' })
  return z.NEVER
})

/** A block device for a volume, in a sandbox's machine and in its checkpoints. */
export const machineDevice = z.object({
  place: z
    .int()
    .min(0)
    .max(VOLUME_DEVICES - 1),
  read_only: z.boolean(),
  /** `null`: the sandbox was copied from one that had a volume here, and has none itself. */
  volume: z.object({ id: volumeId, name: z.string() }).nullable(),
})
export type MachineDevice = z.infer<typeof machineDevice>

export interface VolumeRequest {
  readonly volume: VolumeRecord
  readonly isReadOnly: boolean
}

/**
 * Adds devices for the volumes of a new sandbox, in their order. It does not reuse devices of the guest that the sandbox is
 * copied from: the copy may still write to such a device, and must not write to another volume.
 * @throws ApiError 409 if too few devices are free
 */
export function addDevices(of: readonly MachineDevice[], wanted: readonly VolumeRequest[]): MachineDevice[] {
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

/** The devices without their volumes, for a sandbox that must not have these. */
export function withoutVolumes(devices: readonly MachineDevice[]): MachineDevice[] {
  return devices.map((device) => ({ ...device, volume: null }))
}

/** The devices of a forked child: it shares volumes that its parent reads, but not those that its parent writes. */
export function inherited(devices: readonly MachineDevice[]): MachineDevice[] {
  return devices.map((device) => (device.read_only ? device : { ...device, volume: null }))
}

/** Bit mask of the devices with a volume, for the REFRESH message; `undefined` if the machine has no devices. */
export function deviceBits(devices: readonly MachineDevice[]): number | undefined {
  if (devices.length === 0) return undefined
  return devices.reduce((bits, { place, volume }) => (volume === null ? bits : bits | (1 << place)), 0)
}
