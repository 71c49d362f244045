import type { VolumeId } from '@offshoot/contract/ids'
import { type MachineDevice, VOLUME_DEVICES } from '../../store/volumes/machine-device.ts'
import { sectionsOf, stateOf } from './device-state.ts'

/*
 * The block devices for volumes: `/dev/vdb` to `/dev/vdi` of a guest with eight volumes.
 *
 * A bake has all of them, so that its guest knows their places, and detaches their driver before its memory is saved. Their
 * part of the device state is then cut out and stored separately. A guest is restored with as many devices as it has
 * volumes, because eight idle ones would cost 4 MiB and a millisecond for each restore. The restore of a checkpoint of a
 * guest with volumes needs each of its devices in its place, with or without a volume.
 */

/** One device that a machine has. */
export interface VolumeDevice {
  /** Its number, from 0 on. */
  readonly place: number
  readonly isReadOnly: boolean
  /** Path of the volume; `null`: every read and write there is an I/O error. */
  readonly path: string | null
  /** `true`: the restored state does not contain it, because its guest had no driver on it. */
  readonly isNew: boolean
}

/** The devices of a bake. */
export const EMPTY_DEVICES: readonly VolumeDevice[] = Array.from({ length: VOLUME_DEVICES }, (_, place) => ({
  place,
  isReadOnly: false,
  path: null,
  isNew: false,
}))

/** @param known devices that the restored state contains */
export function volumeDevices(
  devices: readonly MachineDevice[],
  known: readonly MachineDevice[],
  pathOf: (id: VolumeId) => string,
): VolumeDevice[] {
  const places = new Set(known.map(({ place }) => place))
  return devices.map(({ place, read_only, volume }) => ({
    place,
    isReadOnly: read_only,
    path: volume === null ? null : pathOf(volume.id),
    isNew: !places.has(place),
  }))
}

/** Addresses below those of root disk, network and channel, which have the highest ones. */
const FIRST_BUS = 20
/** Address of the first bus of the machine `microvm`, and the distance of two buses. */
const BUSES_ADDRESS = 0xfeb0_0000
const BUS_BYTES = 512

/** The name of a volume's node in QEMU. */
export function nodeOfPlace(place: number): string {
  return `volume-${place}`
}

/**
 * Serial numbers identify the devices in the guest. QEMU flushes a volume when the guest does, unlike the root disk,
 * because a volume outlives its VM. It also locks the file, so that a second QEMU that would write it does not start,
 * whatever else has gone wrong.
 */
export function volumeArguments(volumes: readonly VolumeDevice[]): string[] {
  const inOrder = volumes.toSorted((a, b) => a.place - b.place)
  return inOrder.flatMap((volume) => ['-blockdev', volumeNode(volume), '-device', volumeDevice(volume)])
}

function volumeNode({ place, path, isReadOnly }: VolumeDevice): string {
  // Smaller than any request of a guest.
  const content = path === null ? 'driver=null-co,size=512' : `driver=raw,file.driver=file,file.filename=${path}`
  return `${content},node-name=${nodeOfPlace(place)},discard=unmap${isReadOnly ? ',read-only=on' : ''}`
}

function volumeDevice({ place }: VolumeDevice): string {
  const bus = `bus=virtio-mmio-bus.${FIRST_BUS - place}`
  return `virtio-blk-device,${bus},drive=${nodeOfPlace(place)},serial=vol${place},werror=report,rerror=report`
}

/** Splits a bake's state into the part without these devices, and the part with them only. @throws Error */
export function cutVolumes(state: Buffer): { state: Buffer; volumes: Buffer } {
  const names = new Set(EMPTY_DEVICES.map(({ place }) => sectionOf(place)))
  const sections = sectionsOf(state)
  const volumes = sections.filter(({ name }) => names.has(name))
  if (volumes.length !== VOLUME_DEVICES) throw new Error('the device state lacks devices for volumes')
  return { state: stateOf(sections.filter(({ name }) => !names.has(name))), volumes: stateOf(volumes) }
}

/** A state that also contains the new devices. @param cut the part that {@link cutVolumes} has cut out */
export function addVolumes(state: Buffer, cut: Buffer, volumes: readonly VolumeDevice[]): Buffer {
  const names = new Set(volumes.filter(({ isNew }) => isNew).map(({ place }) => sectionOf(place)))
  return stateOf([...sectionsOf(state), ...sectionsOf(cut).filter(({ name }) => names.has(name))])
}

function sectionOf(place: number): string {
  const address = BUSES_ADDRESS + (FIRST_BUS - place) * BUS_BYTES
  return `virtio-mmio@${address.toString(16).padStart(16, '0')}/virtio-blk`
}
