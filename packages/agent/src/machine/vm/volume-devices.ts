import type { VolumeId } from '@offshoot/contract/ids'
import { type MachineDevice, VOLUME_DEVICES } from '../../store/volumes/machine-device.ts'
import { sectionsOf, stateOf } from './device-state.ts'

/*
 * The block devices for volumes: `/dev/vdb` to `/dev/vdi` of a guest that has so many.
 *
 * A bake has them all, so that its guest knows where they are, and has them taken from their driver before it is frozen.
 * What its state says of them is then cut out and kept apart, and a guest is restored with as many as it gets volumes:
 * devices that it lacks cost nothing (eight idle ones would: 4 MiB and a millisecond each time). What is restored of a
 * guest that had some must find each of those in its place, empty or not.
 */

/** One device that a machine has. */
export interface VolumeDevice {
  /** From 0, which one. */
  readonly place: number
  readonly isReadOnly: boolean
  /** Path of the volume; `null`: whatever is read or written there is an I/O error. */
  readonly path: string | null
  /** The state that is restored does not know it: its guest had no driver on it. */
  readonly isNew: boolean
}

/** What a bake has. */
export const EMPTY_DEVICES: readonly VolumeDevice[] = Array.from({ length: VOLUME_DEVICES }, (_, place) => ({
  place,
  isReadOnly: false,
  path: null,
  isNew: false,
}))

/** @param known devices of the state that is restored */
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

/** Below root disk, network and channel, which take the highest ones. */
const FIRST_BUS = 20
/** Where the machine `microvm` has its first bus, and how far apart they are. */
const BUSES_ADDRESS = 0xfeb0_0000
const BUS_BYTES = 512

/** The name of a volume's node in QEMU. */
export function nodeOfPlace(place: number): string {
  return `volume-${place}`
}

/**
 * Serial numbers tell the guest which is which.
 *
 * QEMU flushes what the guest flushes, unlike on the root disk: a volume outlives its VM. And it locks the file: whatever
 * has gone wrong before, a second QEMU that would write it does not start.
 */
export function volumeArguments(volumes: readonly VolumeDevice[]): string[] {
  const inOrder = volumes.toSorted((a, b) => a.place - b.place)
  return inOrder.flatMap((volume) => ['-blockdev', volumeNode(volume), '-device', volumeDevice(volume)])
}

function volumeNode({ place, path, isReadOnly }: VolumeDevice): string {
  // Shorter than anything that a guest asks for.
  const content = path === null ? 'driver=null-co,size=512' : `driver=raw,file.driver=file,file.filename=${path}`
  return `${content},node-name=${nodeOfPlace(place)},discard=unmap${isReadOnly ? ',read-only=on' : ''}`
}

function volumeDevice({ place }: VolumeDevice): string {
  const bus = `bus=virtio-mmio-bus.${FIRST_BUS - place}`
  return `virtio-blk-device,${bus},drive=${nodeOfPlace(place)},serial=vol${place},werror=report,rerror=report`
}

/** A bake's state in two parts: without these devices, and with them only. @throws Error */
export function cutVolumes(state: Buffer): { state: Buffer; volumes: Buffer } {
  const names = new Set(EMPTY_DEVICES.map(({ place }) => sectionOf(place)))
  const sections = sectionsOf(state)
  const volumes = sections.filter(({ name }) => names.has(name))
  if (volumes.length !== VOLUME_DEVICES) throw new Error('the device state lacks devices for volumes')
  return { state: stateOf(sections.filter(({ name }) => !names.has(name))), volumes: stateOf(volumes) }
}

/** A state that knows the new ones of these devices too. @param cut what {@link cutVolumes} has cut out */
export function addVolumes(state: Buffer, cut: Buffer, volumes: readonly VolumeDevice[]): Buffer {
  const names = new Set(volumes.filter(({ isNew }) => isNew).map(({ place }) => sectionOf(place)))
  return stateOf([...sectionsOf(state), ...sectionsOf(cut).filter(({ name }) => names.has(name))])
}

function sectionOf(place: number): string {
  const address = BUSES_ADDRESS + (FIRST_BUS - place) * BUS_BYTES
  return `virtio-mmio@${address.toString(16).padStart(16, '0')}/virtio-blk`
}
