import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { createLayer } from '../disks/qcow2.ts'
import type { Images } from '../../store/bakes/images.ts'
import { launch } from '../vm/launch.ts'
import { BOOT_DISK, bootArguments, DISK, machineArguments, type Machine } from '../vm/machine.ts'
import { Vm } from '../vm/vm.ts'

/** Milliseconds; a guest under KVM has answered after a fraction of it. */
const BOOT_MS = 5000
const KILL_MS = 5000
const MEMORY_MIB = 256

/** Boots our own kernel and guest under KVM and says whether the guest answered in time. */
export async function bootsUnderKvm(qemu: string, images: Images, template: string): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-probe-'))
  const machine: Machine = { accelerator: 'kvm', tscKhz: 0, vcpus: 1, memoryMib: MEMORY_MIB, network: 'user' }
  const deadline = Deadline.after(BOOT_MS, 'boot under KVM')
  try {
    await createLayer(join(folder, DISK), { path: images.rootfs(template), format: 'raw', bytes: 2 ** 30 }, deadline)
    const args = [
      ...machineArguments(machine, { path: join(folder, 'memory'), isShared: false }, BOOT_DISK),
      ...bootArguments(machine, images.kernel, images.initramfs),
    ]
    // Not confined: it runs nothing but our own guest, once, and KVM itself may be root's only.
    const confinement = { uid: null }
    const vm = new Vm(
      folder,
      await launch({
        qemu,
        args,
        folder,
        logPath: join(folder, 'qemu.log'),
        confinement,
        tap: null,
        files: [],
        preload: null,
      }),
      null,
    )
    try {
      await deadline.race(Promise.race([vm.link(deadline), vm.ended.then(() => Promise.reject(new Error('ended')))]))
      return true
    } finally {
      await vm.kill(Deadline.after(KILL_MS, 'end of the probe'))
    }
  } catch {
    return false
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
