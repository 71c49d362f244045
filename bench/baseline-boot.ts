import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createLayer } from '@offshoot/agent/machine/disks/qcow2'
import { launch } from '@offshoot/agent/machine/vm/launch'
import { BOOT_DISK, bootArguments, DISK, machineArguments } from '@offshoot/agent/machine/vm/machine'
import { Vm } from '@offshoot/agent/machine/vm/vm'
import type { VolumeDevice } from '@offshoot/agent/machine/vm/volume-devices'
import type { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'
import { imagesDir, type Offshoot } from '../tests/setup/offshoot.ts'
import { qemuByHand } from './qemu-by-hand.ts'

const MIB = 1024 * 1024
const BOOT_MS = 60_000

export interface BaselineBoot {
  /** A temporary folder. */
  readonly folder: string
  readonly rootfs: string
  readonly diskMib: number
  readonly memoryMib: number
  readonly volumes?: readonly VolumeDevice[]
  /** QEMU emulates the guest and counts its instructions: its clock shows a nanosecond for each. */
  readonly isCounted?: boolean
}

/** With `isCounted`, QEMU advances the guest's time-stamp counter once for each instruction, which is a nanosecond. */
const COUNTED_KHZ = 1_000_000

/** The image of the template `base`, and its sizes. */
export const BASE = { rootfs: join(imagesDir, 'templates/base/rootfs.ext4'), diskMib: 4096, memoryMib: 512 } as const

/** Boots a VM of the service's kind without the service, and ends it after `use`. */
export async function bootBaseline<T>(
  { dataDir }: Offshoot,
  { folder, rootfs, diskMib, memoryMib, volumes = [], isCounted = false }: BaselineBoot,
  use: (link: GuestLink) => Promise<T>,
): Promise<T> {
  const deadline = Deadline.after(BOOT_MS, 'boot by hand')
  const probed = JSON.parse(await readFile(join(dataDir, 'agent/accelerator.json'), 'utf8')) as {
    accelerator: 'kvm' | 'tcg'
    tsc_khz: number
  }
  const accelerator = isCounted ? 'tcg' : probed.accelerator
  const tscKhz = isCounted ? COUNTED_KHZ : probed.tsc_khz
  const machine = { accelerator, tscKhz, vcpus: 1, memoryMib, network: 'user' } as const
  await mkdir(folder)
  await createLayer(join(folder, DISK), { path: rootfs, format: 'raw', bytes: diskMib * MIB }, deadline)
  const [qemu, ...ofQemu] = await qemuByHand()
  const args = [
    ...ofQemu,
    ...(isCounted ? ['-icount', 'shift=0,sleep=off'] : []),
    ...machineArguments(machine, { path: join(folder, 'memory'), isShared: true }, BOOT_DISK, volumes),
    ...bootArguments(machine, join(imagesDir, 'vmlinuz'), join(imagesDir, 'initramfs.cpio.gz')),
  ]
  const logPath = join(folder, 'qemu.log')
  const options = { qemu, args, folder, logPath, tap: null, files: [], preload: null }
  const vm = new Vm(folder, await launch({ ...options, confinement: { uid: null } }), null)
  try {
    return await use(await vm.link(deadline))
  } finally {
    await vm.kill(Deadline.after(BOOT_MS, 'end of a boot by hand'))
    await rm(folder, { recursive: true })
  }
}
