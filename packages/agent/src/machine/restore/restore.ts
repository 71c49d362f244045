import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { GuestLinkLost, GuestUnavailable } from '@offshoot/guest-link/guest-link-error'
import { QmpConnectionError } from '@offshoot/qmp/qmp-error'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { addActiveLayer } from '../disks/active-layer.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { newLayerId } from '../../store/disks/layer-id.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import type { TapGiver } from '../vm/confinement.ts'
import { inheritance, type Inheritance, withVhostNet } from './inheritance.ts'
import { describeEnd, lastWords, launch } from '../vm/launch.ts'
import { bootArguments, CHANNELS, IMAGE_SOCKET, restoreArguments } from '../vm/machine.ts'
import { Vm } from '../vm/vm.ts'
import { addVolumes } from '../vm/volume-devices.ts'

const KILL_MS = 5000
/** Milliseconds between the loss of a socket and the end of QEMU, where that is the reason. */
const END_MS = 1000
/** Milliseconds between questions whether a state has been loaded. */
const LOAD_POLL_MS = 2

export interface Restore extends Inheritance {
  readonly qemu: string
  /** native/guest-memory.c, compiled. */
  readonly preload: string
  /** The guest is booted from its disk, with nothing in memory; `null`: it is restored. */
  readonly boot: BootFiles | null
  readonly logPath: string
  readonly tap: TapGiver | null
  /** `null`: the guest is loaded and stands still. */
  readonly greet: Greet | null
  /** Hears of QEMU's process as soon as there is one. */
  readonly onLaunch?: (process: ProcessIdentity) => void
}

/** What a guest boots, wherever its disk is. */
export interface BootFiles {
  readonly kernel: string
  readonly initramfs: string
}

/** Their names in the VM's folder: the folders they are in may be closed to its user. */
const KERNEL = 'vmlinuz'
const INITRAMFS = 'initramfs.cpio.gz'

/** Says to the guest what must be said before anything else is let through: its new identity, or that it may go on. */
export type Greet = (vm: Vm, deadline: Deadline) => Promise<void>

/**
 * The hot path: from a folder to a guest that answers as itself.
 * Whatever fails, no process is left.
 */
export async function restore(options: Restore, deadline: Deadline): Promise<Vm> {
  const { folder, logPath, confinement, greet } = options
  const bake = bakeFiles(options.bake)
  const disk: DiskChain = { active: newLayerId(), layers: options.checkpoint?.layers ?? [] }
  await addActiveLayer(folder, disk.active, {
    empty: bake.overlay,
    uid: confinement.uid,
    isDurable: options.isDurable,
  })
  const state = await stateFile(options)
  const begin = await beginning(options)
  const launched = await withVhostNet(options.machine, async (vhost) => {
    const { args, files, env } = inheritance(options, disk, state, vhost)
    return launch({
      qemu: options.qemu,
      args: [...args, ...begin, ...(greet === null ? ['-S'] : [])],
      folder,
      logPath,
      confinement,
      tap: options.tap,
      bake: options.bake,
      accelerator: options.machine.accelerator,
      files,
      preload: { path: options.preload, env: { ...env, ...imaging(options) } },
    })
  })
  options.onLaunch?.(launched.process)
  const vm = new Vm(folder, launched, disk)
  try {
    // The monitor answers when QEMU has made its sockets, so that nothing polls for them.
    await vm.qmp.ready(deadline)
    if (greet === null) await untilLoaded(vm, deadline)
    else await greet(vm, deadline)
    return vm
  } catch (error) {
    const cause = await endedWith(vm, error)
    // A deadline of its own: the restore's may be what has passed.
    await vm.kill(Deadline.after(KILL_MS, 'end of a VM that did not start'))
    throw cause
  }
}

/** One with much in its memory is copied while it runs on (`machine/capture/memory-image.ts`): those whose disk outlives them are the large ones. */
export function imaging({
  isDurable,
  qemu,
  confinement,
}: Pick<Restore, 'isDurable' | 'qemu' | 'confinement'>): Record<string, string> {
  if (!isDurable) return {}
  const socket: Record<string, string> =
    confinement.jail == null ? { GUEST_IMAGE_SOCKET: IMAGE_SOCKET } : { GUEST_IMAGE_FD: String(CHANNELS.image.fd) }
  return { ...socket, GUEST_IMAGE_OF: basename(qemu) }
}

/** Of a guest: what is in its memory, or what it boots. */
async function beginning({ boot, folder, machine }: Restore): Promise<string[]> {
  if (boot === null) return restoreArguments()
  await copyFile(boot.kernel, join(folder, KERNEL))
  await copyFile(boot.initramfs, join(folder, INITRAMFS))
  for (const name of [KERNEL, INITRAMFS]) await chmod(join(folder, name), 0o444)
  return bootArguments(machine, KERNEL, INITRAMFS)
}

/** The device state to load: as it was saved, but for devices that it does not know. */
async function stateFile({ checkpoint, volumes, bake, folder }: Restore): Promise<string> {
  const { state, volumesState } = bakeFiles(bake)
  const saved = checkpoint?.folder == null ? state : checkpointFiles(checkpoint.folder).state
  if (!volumes.some(({ isNew }) => isNew)) return saved
  const path = join(folder, 'state')
  await writeFile(path, addVolumes(await readFile(saved), await readFile(volumesState), volumes), { flag: 'wx' })
  return path
}

/** QEMU loads by itself and does not say when it has. */
async function untilLoaded({ qmp, ended }: Vm, deadline: Deadline): Promise<void> {
  const died = ended.then(() => Promise.reject(new QmpConnectionError('QEMU ended')))
  died.catch(() => undefined)
  for (;;) {
    const { status } = await Promise.race([died, qmp.execute('query-status', {}, deadline)])
    if (status !== 'inmigrate') return
    await wait(LOAD_POLL_MS)
  }
}

/**
 * What to tell of a failure of a VM, with QEMU's own words where it has any. A QEMU that dies takes its sockets with it: why
 * it died is the better cause. One that hangs or refuses may have said why.
 */
export async function endedWith(vm: Vm, error: unknown): Promise<unknown> {
  const isLost = [QmpConnectionError, GuestLinkLost, GuestUnavailable].some((kind) => error instanceof kind)
  if (vm.log === null) return error
  const isGone = isLost || vm.hasEnded || !(await isAlive(vm.process))
  const end = isGone
    ? await Deadline.after(END_MS, 'end of QEMU')
        .race(vm.ended)
        .catch(() => null)
    : null
  if (end !== null) return describeEnd(vm.log, end)
  const words = await lastWords(vm.log)
  if (words === '') return error
  const told = (message: string) => `${message}; QEMU's last words: ${words}`
  if (error instanceof DeadlineExceeded) return new DeadlineExceeded(told(error.message), { cause: error })
  if (error instanceof QmpConnectionError) return new QmpConnectionError(told(error.message), { cause: error })
  return error
}
