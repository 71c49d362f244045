import type { Accelerator } from '@offshoot/contract/agent-api'
import { volumeArguments, type VolumeDevice } from './volume-devices.ts'

/**
 * The only file that knows QEMU's command line. Bake and restore share {@link machineArguments}, because a device state is
 * only valid for the same machine, CPU and devices in the same order.
 */
export interface Machine {
  readonly accelerator: Accelerator
  /** Frequency of the host's time-stamp counter, kHz. A guest under TCG that has to measure it hangs. */
  readonly tscKhz: number
  readonly vcpus: number
  readonly memoryMib: number
  readonly network: NetworkKind
  /** Whether a program has the same addresses at each start (docs/adr/0052-fixed-addresses.md). */
  readonly hasFixedAddresses?: boolean
  /** Under KVM only. */
  readonly kvm?: KvmGuest
}

/** Settings of guests under KVM. */
export interface KvmGuest {
  /** QEMU's CPU model, with its options (`cpu-model.ts`). */
  readonly cpu: string
  /** Added to the guest kernel's command line. */
  readonly kernelParameters: readonly string[]
  /** Whether restored guests send and receive through the host's kernel (docs/adr/0018-vhost-net-and-huge-pages.md). */
  readonly hasVhostNet: boolean
}

/**
 * The backend of the guest's network. It is part of the device state: `user` has a section of its own. `tap`: a TAP of the
 * host. `user`: QEMU's own network, which answers but leads nowhere.
 */
export type NetworkKind = 'tap' | 'user'

/** Raise it with every change of the guest's machine here: older bakes are then made again. */
export const LAYOUT_VERSION = 6
/**
 * Maximum MiB of translated code in a VM. This is private memory, which grows with the code that the guest runs. A full cache is
 * emptied. Node.js and Python together need more than 128 (docs/adr/0046-zygotes.md).
 */
export const TRANSLATION_CACHE_MIB = 256
/**
 * Disabled: TCG announces fast string instructions (ERMS) but runs them byte by byte. Without them, kernel and C library
 * clear and copy in words: a page fault costs 6 µs instead of 9, 64 KiB through a pipe 60 instead of 300.
 */
const TCG_CPU = 'max,erms=off,fsrm=off'
/**
 * A device handles a notification of the guest before the guest continues. By default QEMU leaves it to another thread, and
 * interrupts the guest afterwards. The balloon's interrupt is lost, because QEMU takes pin 0 of each I/O APIC for that of the
 * timer. The guest then waits forever, and never gets back the memory that it reported as free (docs/adr/0039-newer-qemu.md).
 */
const IMMEDIATE_NOTIFICATIONS = 'virtio-mmio.ioeventfd=off'
/** QEMU's models that stand for the host's CPU. */
export const HOST_CPU = 'host'
const MAX_CPU = 'max'
/** The guest's address in QEMU's user network. */
export const GUEST_IP = '10.0.2.15'
export const GUEST_GATEWAY = '10.0.2.2'

/** The options of QEMU's own system call filter. */
const SYSTEM_CALLS = 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'

/** File names in the VM's folder, which is QEMU's working directory. */
export const DISK = 'disk.qcow2'
export const CONSOLE = 'console.log'
export const QMP_SOCKET = 'qmp.sock'
export const GUEST_SOCKET = 'guest.sock'
export const IMAGE_SOCKET = 'image.sock'

/**
 * File descriptors that QEMU inherits: its first monitor, then the files of `Launch.files`, of which the device state is
 * the first.
 */
export const QMP_FD = 3
export const FIRST_FILE_FD = 4
/** The descriptor of its TAP, above those. */
export const TAP_FD = 199
/** The sockets that a QEMU in a jail inherits and listens on. It cannot reach one by a path. */
export const CHANNELS = {
  monitor: { name: QMP_SOCKET, fd: 200 },
  guest: { name: GUEST_SOCKET, fd: 201 },
  image: { name: IMAGE_SOCKET, fd: 202 },
} as const
/** The socket on which a zygote listens for the launchers of its children (native/zygote.c). */
export const ZYGOTE_CHANNEL = { name: 'zygote.sock', fd: 203 } as const
/**
 * The first of the descriptors by which a zygote's child continues another VM (native/zygote.h): what the zygote has written and
 * what it has used, then pages and runs of each layer of that VM's memory. Above all others, also those that only come with the request for a child.
 */
export const CONTINUED_FD = 400
/** The path from which such a child loads its device state, and the file in its folder that it gets for it. */
export const CONTINUED_PATH = '/dev/null/continued-state'
export const CONTINUED_STATE = 'continued-state'
/**
 * The paths that QEMU opens to keep the memory that a capture has written: from its own memory, and from an image. And the files and
 * pipes in its folder that it gets for it (native/kept-memory.c).
 */
export const KEPT_PATH = '/dev/null/kept-memory'
export const IMAGED_PATH = '/dev/null/imaged-memory'
export const KEPT_FILES = { pages: 'kept-pages', runs: 'kept-runs' } as const
export const KEPT_PIPES = { asks: 'kept-asks', same: 'kept-same' } as const
/** Whether QEMU makes its sockets in its working directory or inherits them. The guest's machine is the same. */
export type ChannelKind = 'paths' | 'inherited'

/**
 * The path of the memory in the options of a restore. The preload object knows it (native/guest-memory.c). Without that
 * object QEMU ends, because no such file can be created.
 */
export const INHERITED_MEMORY = '/dev/null/guest-memory'

export interface MemoryFile {
  readonly path: string
  /** A shared mapping writes the file; a private one copies each written page. */
  readonly isShared: boolean
}

/** One node of the disk. */
export interface DiskNode {
  readonly name: string
  readonly path: string
  readonly isReadOnly: boolean
  /** The node below; `null`: the one that the file names. */
  readonly backing: string | null
  /** `true`: a flush of the guest reaches the host's disk. */
  readonly isFlushed?: boolean
  /** Name of the node of the file, if commands must refer to it. */
  readonly fileNode?: string
}

/** The disk of a guest that boots: one layer, whose file names the layer below. */
export const BOOT_DISK: readonly DiskNode[] = [{ name: 'root', path: DISK, isReadOnly: false, backing: null }]
/**
 * Blocks that the guest discards become holes in the host's file. The guest then reads zeros, even if a layer below has
 * data. This is no part of the guest's machine: its disk accepts discards either way. Every writable layer needs it, also
 * when it is opened again, or QEMU ignores discards.
 */
export const LAYER_DISCARD = 'unmap'
/** The bake's disk, below all layers of a restored guest. */
export const BAKE_NODE = 'bake'

/**
 * @param disk from the lowest node to the one that the guest sees
 * @param vhostFd an inherited descriptor of vhost-net. The guest's device is the same without it, so it is not part of any
 *   fingerprint
 */
export function machineArguments(
  machine: Machine,
  memory: MemoryFile,
  disk: readonly DiskNode[],
  volumes: readonly VolumeDevice[] = [],
  channels: ChannelKind = 'paths',
  vhostFd: number | null = null,
): string[] {
  const { accelerator, vcpus, memoryMib, network, kvm } = machine
  const thread = vcpus > 1 ? 'multi' : 'single'
  return [
    ['-M', 'microvm,acpi=on,rtc=on,memory-backend=ram'],
    ['-accel', accelerator === 'tcg' ? `tcg,thread=${thread},tb-size=${TRANSLATION_CACHE_MIB}` : 'kvm'],
    ['-cpu', accelerator === 'tcg' ? TCG_CPU : (kvm?.cpu ?? HOST_CPU)],
    ['-global', IMMEDIATE_NOTIFICATIONS],
    ['-m', String(memoryMib), '-smp', String(vcpus)],
    ['-object', memoryBackend(memoryMib, memory)],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    // Append mode, so that the agent can truncate the file while QEMU has it open. This limits its size.
    ['-chardev', `file,id=console,path=${CONSOLE},append=on`, '-serial', 'chardev:console'],
    ...disk.map((node) => ['-blockdev', blockNode(node)]),
    // A full host disk becomes an I/O error in the guest. By default QEMU would stop the whole VM.
    ['-device', `virtio-blk-device,drive=${disk.at(-1)?.name},werror=report,rerror=report`],
    ['-netdev', network === 'tap' ? tapBackend(vhostFd) : 'user,id=net,restrict=on,ipv6=off'],
    ['-device', 'virtio-net-device,netdev=net,mac=52:54:00:0f:f5:01'],
    ['-chardev', listener('guest', CHANNELS.guest, channels)],
    ['-device', 'virtio-serial-device', '-device', 'virtserialport,chardev=guest,name=agent'],
    // The guest reports freed pages, and QEMU returns them to the host. At a bus apart from those that are numbered
    // downwards.
    ['-device', 'virtio-balloon-device,bus=virtio-mmio-bus.0,free-page-reporting=on'],
    ...volumeArguments(volumes),
    // Two monitors: one that the agent has from the start of QEMU, and one with a path for the next agent.
    ['-chardev', `socket,id=inherited,fd=${QMP_FD}`, '-mon', 'chardev=inherited,mode=control'],
    ['-chardev', listener('monitor', CHANNELS.monitor, channels), '-mon', 'chardev=monitor,mode=control'],
    ['-sandbox', SYSTEM_CALLS],
  ].flat()
}

/**
 * What a guest's kernel does without (docs/adr/0068-guest-kernel.md): clearing memory that it fills at once, security modules
 * that nobody configures, figures of pressure, a watchdog that wakes an idle CPU, and a fifth level of page tables.
 */
const LEAN = ['init_on_alloc=0', 'lsm=landlock,yama', 'psi=0', 'nowatchdog', 'no5lvl']

/** The options of a cold boot. With `reboot=t` and `-no-reboot`, QEMU ends when the guest restarts or panics. */
export function bootArguments(machine: Machine, kernel: string, initramfs: string): string[] {
  const clock = machine.accelerator === 'tcg' ? [`tsc_early_khz=${machine.tscKhz}`, 'tsc=reliable'] : []
  // RCU's threads get a priority above that of the agent's hold. Otherwise a process that waits for them would wait
  // forever.
  const hold = 'rcutree.kthread_prio=99'
  const addresses = machine.hasFixedAddresses === true ? ['norandmaps'] : []
  const extra = [...clock, ...addresses, ...(machine.kvm?.kernelParameters ?? [])]
  const parameters = ['console=ttyS0', 'reboot=t', 'panic=-1', 'quiet', 'mitigations=off', ...LEAN, hold, ...extra]
  return ['-kernel', kernel, '-initrd', initramfs, '-append', parameters.join(' ')]
}

/**
 * The options of a restore. QEMU reads the device state from the inherited descriptor while it starts, and then runs the
 * guest without a command. The kernel is in the guest's memory, so it is not loaded again.
 *
 * The state comes from `xen-save-devices-state`, which writes no configuration section. No announcements: for a second,
 * QEMU would let the guest announce its address to its neighbours five times, in a worker that a hold may interrupt while
 * it has the lock of all interfaces.
 */
export function restoreArguments(): string[] {
  const globals = ['migration.send-configuration=off', 'migration.announce-rounds=0']
  return ['-incoming', `fd:${FIRST_FILE_FD}`, ...globals.flatMap((setting) => ['-global', setting])]
}

/** The options of a QEMU without a guest, which lists its CPU models under KVM. */
export function cpuQueryArguments(): string[] {
  return [
    ['-M', 'none', '-accel', 'kvm', '-S'],
    ['-nodefaults', '-no-user-config', '-display', 'none'],
    ['-chardev', `socket,id=inherited,fd=${QMP_FD}`, '-mon', 'chardev=inherited,mode=control'],
    ['-sandbox', SYSTEM_CALLS],
  ].flat()
}

/** Whether the guest sees the CPU of this host. */
export function isHostCpu({ accelerator, kvm }: Machine): boolean {
  const [model = HOST_CPU] = kvm?.cpu.split(',') ?? []
  return accelerator === 'kvm' && (model === HOST_CPU || model === MAX_CPU)
}

/**
 * The options of a QEMU without a guest, which copies disks.
 * @param descriptors of a raw root file system (the node `rootfs`) and of the layers over it, the lowest first
 * @param made the path of an empty layer, which becomes the top node `made`
 */
export function copierArguments(descriptors: readonly number[], made: string): string[] {
  const [rootfs = 0, ...layers] = descriptors
  const raw = `driver=raw,node-name=rootfs,read-only=on,file.driver=file,file.read-only=on,file.filename=${descriptorPath(rootfs)}`
  const nodes = layers.map((fd, index): DiskNode => {
    const backing = index === 0 ? 'rootfs' : `layer${index - 1}`
    return { name: `layer${index}`, path: descriptorPath(fd), isReadOnly: true, backing }
  })
  const top: DiskNode = { name: 'made', path: made, isReadOnly: false, backing: nodes.at(-1)?.name ?? 'rootfs' }
  return [
    ['-M', 'none', '-accel', 'tcg,tb-size=1', '-S'],
    ['-nodefaults', '-no-user-config', '-display', 'none'],
    descriptors.flatMap((fd) => descriptorArguments(fd)),
    ['-blockdev', raw],
    ...[...nodes, top].map((node) => ['-blockdev', blockNode(node)]),
    ['-chardev', `socket,id=inherited,fd=${QMP_FD}`, '-mon', 'chardev=inherited,mode=control'],
    ['-sandbox', SYSTEM_CALLS],
  ].flat()
}

/** Makes an inherited descriptor usable as a file of block nodes. */
export function descriptorArguments(fd: number): string[] {
  return ['-add-fd', `fd=${fd},set=${fd}`]
}

export function descriptorPath(fd: number): string {
  return `/dev/fdset/${fd}`
}

function tapBackend(vhostFd: number | null): string {
  return `tap,id=net,fd=${TAP_FD}${vhostFd === null ? '' : `,vhost=on,vhostfd=${vhostFd}`}`
}

function listener(id: string, { name, fd }: { name: string; fd: number }, channels: ChannelKind): string {
  return `socket,id=${id},${channels === 'paths' ? `path=${name}` : `fd=${fd}`},server=on,wait=off`
}

function memoryBackend(memoryMib: number, { path, isShared }: MemoryFile): string {
  return `memory-backend-file,id=ram,size=${memoryMib}M,mem-path=${escape(path)},share=${isShared ? 'on' : 'off'}`
}

/**
 * Without a flush by default: when the host loses power, a guest that is not durable is lost with its memory, so its disk
 * needs no flush before a checkpoint.
 */
function blockNode({ name, path, isReadOnly, backing, isFlushed = false, fileNode }: DiskNode): string {
  const file = `driver=qcow2,node-name=${name},file.driver=file,file.filename=${escape(path)}`
  return [
    file,
    ...(fileNode === undefined ? [] : [`file.node-name=${fileNode}`]),
    ...(isFlushed ? [] : ['cache.no-flush=on']),
    ...(isReadOnly ? ['read-only=on'] : [`discard=${LAYER_DISCARD}`]),
    ...(backing === null ? [] : [`backing=${backing}`]),
  ].join(',')
}

/** QEMU's option syntax doubles a comma inside a value. */
function escape(value: string): string {
  return value.replaceAll(',', ',,')
}
