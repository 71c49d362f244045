import type { Accelerator } from '@offshoot/contract/agent-api'
import { volumeArguments, type VolumeDevice } from './volume-devices.ts'

/**
 * The one place that knows QEMU's command line. Bake and restore share {@link machineArguments}: device state is only
 * valid for the very same machine, CPU and devices in the same order.
 */
export interface Machine {
  readonly accelerator: Accelerator
  /** kHz of the host's time-stamp counter; a guest under TCG hangs when it has to find out by itself. */
  readonly tscKhz: number
  readonly vcpus: number
  readonly memoryMib: number
  readonly network: NetworkKind
  /** Under KVM only. */
  readonly kvm?: KvmGuest
}

/** What is particular to guests under KVM. */
export interface KvmGuest {
  /** QEMU's model, with its options (`cpu-model.ts`). */
  readonly cpu: string
  /** Added to the guest kernel's command line. */
  readonly kernelParameters: readonly string[]
  /** Whether restored guests send and receive through the host's kernel (docs/adr/0018-vhost-net-and-huge-pages.md). */
  readonly hasVhostNet: boolean
}

/**
 * What the guest's network ends in. It belongs to the device state: `user` has a section of its own there.
 * `tap`: a TAP of the host. `user`: QEMU's own network, which answers and leads nowhere.
 */
export type NetworkKind = 'tap' | 'user'

/** Raise it with every change of what a guest is made of here: older bakes are then redone. */
export const LAYOUT_VERSION = 6
/** MiB of translated code a VM keeps at most; private memory that grows with what the guest runs. */
export const TRANSLATION_CACHE_MIB = 128
/**
 * TCG announces fast string instructions (ERMS) and then runs them byte by byte. Without them kernel and C library clear
 * and copy in words: a page fault costs 6 µs instead of 9, 64 KiB through a pipe 60 instead of 300.
 */
const TCG_CPU = 'max,erms=off,fsrm=off'
/** QEMU's models that are whatever CPU the host has. */
export const HOST_CPU = 'host'
const MAX_CPU = 'max'
/** The address QEMU's user network expects its guest to have. */
export const GUEST_IP = '10.0.2.15'
export const GUEST_GATEWAY = '10.0.2.2'

/** What QEMU's own filter keeps from it. */
const SYSTEM_CALLS = 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'

/** File names in the VM's folder, which is QEMU's working directory. */
export const DISK = 'disk.qcow2'
export const CONSOLE = 'console.log'
export const QMP_SOCKET = 'qmp.sock'
export const GUEST_SOCKET = 'guest.sock'
export const IMAGE_SOCKET = 'image.sock'

/** File descriptors that QEMU inherits: its first monitor, then the files of `Launch.files`, the device state first. */
export const QMP_FD = 3
export const FIRST_FILE_FD = 4
/** And its TAP, out of the way of those. */
export const TAP_FD = 99
/** The sockets that a QEMU in a jail listens on and inherits: it cannot make or reach one by a path. */
export const CHANNELS = {
  monitor: { name: QMP_SOCKET, fd: 100 },
  guest: { name: GUEST_SOCKET, fd: 101 },
  image: { name: IMAGE_SOCKET, fd: 102 },
} as const
/** Whether QEMU makes its sockets in its working directory or inherits them. The guest's machine is the same. */
export type ChannelKind = 'paths' | 'inherited'

/**
 * What a restore gives as the path of its memory: the preload object knows it (native/guest-memory.c), and without that
 * object QEMU ends, because no such file can be made.
 */
export const INHERITED_MEMORY = '/dev/null/guest-memory'

export interface MemoryFile {
  readonly path: string
  /** A shared mapping writes the file, a private one copies each page it writes. */
  readonly isShared: boolean
}

/** One node of the disk. */
export interface DiskNode {
  readonly name: string
  readonly path: string
  readonly isReadOnly: boolean
  /** The node below; `null`: as the file says. */
  readonly backing: string | null
  /** What the guest flushes is flushed to the host's disk. */
  readonly isFlushed?: boolean
  /** Name of the node of the file itself, where it will be spoken of. */
  readonly fileNode?: string
}

/** The disk of a guest that is booted: one layer, which says itself what is below it. */
export const BOOT_DISK: readonly DiskNode[] = [{ name: 'root', path: DISK, isReadOnly: false, backing: null }]
/**
 * What the guest discards becomes a hole of the host's file. To the guest it then reads as zeros, also where a layer below has
 * data. No part of the guest's machine: its disk accepts discards either way. Every writable layer needs it, however it gets
 * into QEMU, because a layer that is opened again without it ignores them.
 */
export const LAYER_DISCARD = 'unmap'
/** The bake's disk, below every layer of a restored guest. */
export const BAKE_NODE = 'bake'

/**
 * @param disk from the lowest node to the one that the guest sees
 * @param vhostFd an inherited descriptor of vhost-net. The guest's device is the same without it, so no fingerprint has it.
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
    ['-m', String(memoryMib), '-smp', String(vcpus)],
    ['-object', memoryBackend(memoryMib, memory)],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    // Appending, so that the file can be cut while QEMU holds it open: that is how its size is bounded.
    ['-chardev', `file,id=console,path=${CONSOLE},append=on`, '-serial', 'chardev:console'],
    ...disk.map((node) => ['-blockdev', blockNode(node)]),
    // A full host disk is an I/O error to the guest; by default QEMU would stop the whole VM.
    ['-device', `virtio-blk-device,drive=${disk.at(-1)?.name},werror=report,rerror=report`],
    ['-netdev', network === 'tap' ? tapBackend(vhostFd) : 'user,id=net,restrict=on,ipv6=off'],
    ['-device', 'virtio-net-device,netdev=net,mac=52:54:00:0f:f5:01'],
    ['-chardev', listener('guest', CHANNELS.guest, channels)],
    ['-device', 'virtio-serial-device', '-device', 'virtserialport,chardev=guest,name=agent'],
    // A guest says which pages it has freed, and the host has them back. At a bus out of the way of those that count down.
    ['-device', 'virtio-balloon-device,bus=virtio-mmio-bus.0,free-page-reporting=on'],
    ...volumeArguments(volumes),
    // Two monitors: one that we hold from before QEMU runs, and one by path for the agent that comes after us.
    ['-chardev', `socket,id=inherited,fd=${QMP_FD}`, '-mon', 'chardev=inherited,mode=control'],
    ['-chardev', listener('monitor', CHANNELS.monitor, channels), '-mon', 'chardev=monitor,mode=control'],
    ['-sandbox', SYSTEM_CALLS],
  ].flat()
}

/** What a cold boot adds. `reboot=t` with `-no-reboot`: a guest that restarts or panics ends its QEMU. */
export function bootArguments(machine: Machine, kernel: string, initramfs: string): string[] {
  const clock = machine.accelerator === 'tcg' ? [`tsc_early_khz=${machine.tscKhz}`, 'tsc=reliable'] : []
  // RCU's threads above the priority at which the agent holds a machine: what waits for them waits for ever otherwise.
  const hold = 'rcutree.kthread_prio=99'
  const extra = machine.kvm?.kernelParameters ?? []
  const parameters = ['console=ttyS0', 'reboot=t', 'panic=-1', 'quiet', 'mitigations=off', hold, ...clock, ...extra]
  return ['-kernel', kernel, '-initrd', initramfs, '-append', parameters.join(' ')]
}

/**
 * What a restore adds. QEMU reads the device state from the inherited descriptor while it starts and then lets the
 * guest run by itself: no command, no round trip. The kernel is in the guest's memory, so it is not loaded again.
 * The state comes from `xen-save-devices-state`, which writes no configuration section. No announcements: for a second QEMU
 * would have the guest tell its neighbours where it is now, five times, by a worker that a hold may interrupt with the lock of
 * all interfaces in its hands.
 */
export function restoreArguments(): string[] {
  const globals = ['migration.send-configuration=off', 'migration.announce-rounds=0']
  return ['-incoming', `fd:${FIRST_FILE_FD}`, ...globals.flatMap((setting) => ['-global', setting])]
}

/** A QEMU without a guest, to be asked which CPU models it has under KVM. */
export function cpuQueryArguments(): string[] {
  return [
    ['-M', 'none', '-accel', 'kvm', '-S'],
    ['-nodefaults', '-no-user-config', '-display', 'none'],
    ['-chardev', `socket,id=inherited,fd=${QMP_FD}`, '-mon', 'chardev=inherited,mode=control'],
    ['-sandbox', SYSTEM_CALLS],
  ].flat()
}

/** Whether the guest sees the CPU of this very host. */
export function isHostCpu({ accelerator, kvm }: Machine): boolean {
  const [model = HOST_CPU] = kvm?.cpu.split(',') ?? []
  return accelerator === 'kvm' && (model === HOST_CPU || model === MAX_CPU)
}

/**
 * A QEMU without a guest, for what only QEMU can do with disks.
 * @param descriptors of a raw root file system and of the layers over it, the lowest first: nodes `rootfs`, then unnamed to others
 * @param made the path of an empty layer, which is put on top as the node `made`
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

/** Makes an inherited descriptor a file that block nodes can name. @param what it is, for `query-fdsets` */
export function descriptorArguments(fd: number, what = ''): string[] {
  return ['-add-fd', `fd=${fd},set=${fd}${what === '' ? '' : `,opaque=${what}`}`]
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
 * No flush, where it is not asked for: a guest whose host loses power is lost with its memory, so what it wrote need not reach
 * the disk before the agent makes it durable (a checkpoint does).
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
