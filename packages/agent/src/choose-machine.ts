import type { TemplateImage } from '@offshoot/contract/template-image'
import { chooseAccelerator, type HostSpeed } from './host/accelerator.ts'
import { findKvmDevice } from './host/kvm-device.ts'
import type { BakingSlot } from './sandboxes/baking-slot.ts'
import type { Host } from './sandboxes/host.ts'
import type { Images } from './vm/images.ts'
import type { Machine } from './vm/machine.ts'
import { probeMachine } from './vm/probe.ts'
import { withVcpus } from './vm/vcpus.ts'

/** The accelerator of this host, and with it the machines that guests get. */
export async function chooseMachine(
  host: Host,
  images: Images,
  smallest: TemplateImage,
  slot: BakingSlot,
  progress: (what: string) => void,
): Promise<HostSpeed> {
  const { dir, qemu, machines } = host
  const network = host.network === null ? 'user' : 'tap'
  const device = await findKvmDevice()
  const tried = [qemu.version, qemu.build, await images.bootHash(), JSON.stringify(device)].join(' ')
  const chosen = await chooseAccelerator(dir.acceleratorFile, tried, async () => {
    if (!device.isUsable) return device.reason
    progress('trying whether guests run under KVM')
    const image = withVcpus(smallest, 'kvm')
    const { cpu: vcpus, memory_mb: memoryMib } = image
    const machine: Machine = { accelerator: 'kvm', tscKhz: 0, vcpus, memoryMib, network }
    const place = await slot.open()
    const confinement = { ...place.confinement, kvmGroup: device.group }
    return probeMachine({
      qemu: qemu.path,
      machine,
      images,
      image,
      folder: dir.probe,
      place: { ...place, confinement },
    })
  })
  const kvmGroup = chosen.accelerator === 'kvm' && device.isUsable ? device.group : null
  machines.choose(chosen.accelerator, chosen.tscKhz, network, kvmGroup)
  return chosen
}
