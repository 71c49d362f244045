import { digest, hostCpu, stateOptions, type MachineInputs } from './machine-fingerprint.ts'
import { BOOT_DISK, machineArguments, type Machine } from './machine.ts'
import { EMPTY_DEVICES } from './volume-devices.ts'

/** The layout of all machines with this form of fingerprint. */
const LAYOUT = 6

/**
 * The fingerprint of a machine in the form of earlier checkpoints: made of QEMU's whole command line, its file, and the
 * CPU's microcode. Such a checkpoint can be restored as long as none of these has changed.
 * @returns `null` if this machine's device state differs from that of all machines with this form
 */
export async function earlierMachineFingerprint({ qemu, machine }: MachineInputs): Promise<string | null> {
  const now = machineArguments(machine, { path: 'memory', isShared: false }, BOOT_DISK, EMPTY_DEVICES)
  const earlier = earlierArguments(machine)
  if (stateOptions(now).join(' ') !== stateOptions(earlier).join(' ')) return null
  return digest({
    layout: LAYOUT,
    qemu: [qemu.version, qemu.build],
    machine: earlier,
    boot: earlierBoot(machine),
    cpu: machine.accelerator === 'kvm' ? await hostCpu(['model name', 'stepping', 'microcode', 'flags']) : null,
  })
}

/** The options of a cold boot of that time. They must never change. */
function earlierBoot({ accelerator, tscKhz, kvm }: Machine): string[] {
  const clock = accelerator === 'tcg' ? [`tsc_early_khz=${tscKhz}`, 'tsc=reliable'] : []
  const always = ['console=ttyS0', 'reboot=t', 'panic=-1', 'quiet', 'mitigations=off', 'rcutree.kthread_prio=99']
  const parameters = [...always, ...clock, ...(kvm?.kernelParameters ?? [])]
  return ['-kernel', 'vmlinuz', '-initrd', 'initramfs', '-append', parameters.join(' ')]
}

/** The command line of that time. It must never change. */
function earlierArguments({ accelerator, vcpus, memoryMib, network }: Machine): string[] {
  const isTcg = accelerator === 'tcg'
  return [
    ['-M', 'microvm,acpi=on,rtc=on,memory-backend=ram'],
    ['-accel', isTcg ? `tcg,thread=${vcpus > 1 ? 'multi' : 'single'},tb-size=128` : 'kvm'],
    ['-cpu', isTcg ? 'max,erms=off,fsrm=off' : 'host', '-m', String(memoryMib), '-smp', String(vcpus)],
    ['-object', `memory-backend-file,id=ram,size=${memoryMib}M,mem-path=memory,share=off`],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ['-chardev', 'file,id=console,path=console.log,append=on', '-serial', 'chardev:console'],
    ['-blockdev', 'driver=qcow2,node-name=root,file.driver=file,file.filename=disk.qcow2,cache.no-flush=on'],
    ['-device', 'virtio-blk-device,drive=root,werror=report,rerror=report'],
    ['-netdev', network === 'tap' ? 'tap,id=net,fd=99' : 'user,id=net,restrict=on,ipv6=off'],
    ['-device', 'virtio-net-device,netdev=net,mac=52:54:00:0f:f5:01'],
    ['-chardev', 'socket,id=guest,path=guest.sock,server=on,wait=off'],
    ['-device', 'virtio-serial-device', '-device', 'virtserialport,chardev=guest,name=agent'],
    ['-device', 'virtio-balloon-device,bus=virtio-mmio-bus.0,free-page-reporting=on'],
    ...Array.from({ length: 8 }, (_unused, place) => [
      '-blockdev',
      `driver=null-co,size=512,node-name=volume-${place},discard=unmap`,
      '-device',
      `virtio-blk-device,bus=virtio-mmio-bus.${20 - place},drive=volume-${place},serial=vol${place},werror=report,rerror=report`,
    ]),
    ['-chardev', 'socket,id=inherited,fd=3', '-mon', 'chardev=inherited,mode=control'],
    ['-chardev', 'socket,id=monitor,path=qmp.sock,server=on,wait=off', '-mon', 'chardev=monitor,mode=control'],
    ['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
  ].flat()
}
