import { chmod, copyFile, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline, DeadlineExceeded } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { isAlive, type ProcessIdentity } from '@offshoot/kit/process-identity'
import { GuestLinkLost, GuestUnavailable } from '@offshoot/guest-link/guest-link-error'
import { QmpConnectionError } from '@offshoot/qmp/qmp-error'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { addActiveLayer } from '../disks/active-layer.ts'
import { type DiskChain, MAX_LAYERS } from '../../store/disks/disk-chain.ts'
import { newLayerId } from '../../store/disks/layer-id.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import type { TapGiver } from '../vm/confinement.ts'
import { inheritance, type Inheritance, withVhostNet } from './inheritance.ts'
import { describeEnd, type InheritedFile, lastWords, launch, type LaunchedQemu } from '../vm/launch.ts'
import {
  bootArguments,
  CHANNELS,
  descriptorArguments,
  FIRST_FILE_FD,
  IMAGE_SOCKET,
  restoreArguments,
  ZYGOTE_CHANNEL,
} from '../vm/machine.ts'
import { Vm } from '../vm/vm.ts'
import { addVolumes } from '../vm/volume-devices.ts'

const KILL_MS = 5000
/** Maximum milliseconds between the loss of a socket and the end of the QEMU that caused it. */
const END_MS = 1000
/** Milliseconds between two checks whether QEMU has loaded its state. */
const LOAD_POLL_MS = 2

export interface Restore extends Inheritance {
  readonly qemu: string
  /** native/guest-memory.c, compiled. */
  readonly preload: string
  /** For a cold start from the disk; `null`: QEMU restores the guest's memory. */
  readonly boot: BootFiles | null
  readonly logPath: string
  readonly tap: TapGiver | null
  /** `null`: QEMU loads the guest but does not run it. */
  readonly greet: Greet | null
  /** It will be a zygote (zygote.ts). */
  readonly makesChildren?: boolean
  /** Called as soon as QEMU's process exists. */
  readonly onLaunch?: (process: ProcessIdentity) => void
}

/** The files with which a guest boots; its disk is elsewhere. */
export interface BootFiles {
  readonly kernel: string
  readonly initramfs: string
}

/** A zygote has this in the place of each layer of the disk that a child of it may take over from another VM. */
const NOTHING = '/dev/null'

/** Names of their copies in the VM's folder: the VM's user may have no access to the originals. */
const KERNEL = 'vmlinuz'
const INITRAMFS = 'initramfs.cpio.gz'

/** Sends the guest its first message: its new identity, or the release of its processes. Other requests come later. */
export type Greet = (vm: Vm, deadline: Deadline) => Promise<void>

/**
 * The hot path: starts a VM in a folder, and resolves when its guest answers with its own identity.
 * Leaves no process behind if it fails.
 */
export async function restore(options: Restore, deadline: Deadline): Promise<Vm> {
  const { folder, confinement, greet } = options
  const bake = bakeFiles(options.bake)
  const disk: DiskChain = { active: newLayerId(), layers: options.checkpoint?.layers ?? [] }
  await addActiveLayer(folder, disk.active, {
    empty: bake.overlay,
    uid: confinement.uid,
    isDurable: options.isDurable,
  })
  const state = await stateFile(options)
  const args = [...(await beginning(options)), ...(greet === null ? ['-S'] : [])]
  const { launched } = await launchRestoring(options, disk, state, () => ({ args }))
  options.onLaunch?.(launched.process)
  const vm = Vm.of(folder, launched, disk, options)
  return orEnd(vm, async () => {
    // When the monitor answers, QEMU has created its sockets: the agent need not poll for them.
    await traceStep('start of QEMU', () => vm.qmp.ready(deadline))
    if (greet === null) await untilLoaded(vm, deadline)
    else await traceStep('greeting of the guest', () => greet(vm, deadline))
    return vm
  })
}

/** Runs a step of the start of a VM. If it fails, the VM ends, and the error is that of {@link explainFailure}. */
export async function orEnd<T>(vm: Vm, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    const cause = await explainFailure(vm, error)
    // A deadline of its own: the step's may have expired.
    await vm.kill(Deadline.after(KILL_MS, 'end of a VM that did not start'))
    throw cause
  }
}

/** What a QEMU gets beside its {@link inheritance}. */
interface Extras {
  readonly args: readonly string[]
  readonly files?: readonly InheritedFile[]
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Starts a QEMU that restores or boots a guest.
 * @param extras gets the descriptor that the first of its files will have
 * @returns also that descriptor
 */
export async function launchRestoring(
  options: Omit<Restore, 'greet' | 'boot'>,
  disk: DiskChain,
  state: InheritedFile,
  extras: (firstFd: number) => Extras,
): Promise<{ launched: LaunchedQemu; firstFd: number }> {
  return withVhostNet(options.machine, async (vhost) => {
    const inherited = inheritance(options, disk, state, vhost)
    const firstFd = FIRST_FILE_FD + inherited.files.length
    const { args, files = [], env = {} } = extras(firstFd)
    const reserved = Array.from({ length: options.makesChildren === true ? MAX_LAYERS : 0 }, () => NOTHING)
    const firstReserved = firstFd + files.length
    const launched = await launch({
      qemu: options.qemu,
      args: [...inherited.args, ...args, ...reserved.flatMap((_, at) => descriptorArguments(firstReserved + at))],
      folder: options.folder,
      logPath: options.logPath,
      confinement: options.confinement,
      tap: options.tap,
      bake: options.bake,
      accelerator: options.machine.accelerator,
      files: [...inherited.files, ...files, ...reserved],
      preload: { path: options.preload, env: { ...inherited.env, ...imaging(options), ...zygoteOf(options), ...env } },
      makesChildren: options.makesChildren,
    })
    return { launched, firstFd }
  })
}

/**
 * Lets captures copy memory while the guest runs (`machine/capture/memory-image.ts`). Only for durable VMs, the large ones.
 * Nobody captures a zygote.
 */
function imaging({
  isDurable,
  makesChildren = false,
  qemu,
  confinement,
}: Pick<Restore, 'isDurable' | 'makesChildren' | 'qemu' | 'confinement'>): Record<string, string> {
  if (!isDurable || makesChildren) return {}
  const socket: Record<string, string> =
    confinement.jail == null ? { GUEST_IMAGE_SOCKET: IMAGE_SOCKET } : { GUEST_IMAGE_FD: String(CHANNELS.image.fd) }
  return { ...socket, GUEST_IMAGE_OF: basename(qemu) }
}

function zygoteOf({ makesChildren }: Pick<Restore, 'makesChildren'>): Record<string, string> {
  return makesChildren === true ? { ZYGOTE_FD: String(ZYGOTE_CHANNEL.fd) } : {}
}

/** QEMU's arguments to restore a guest's memory, or to boot the guest. */
async function beginning({ boot, folder, machine }: Restore): Promise<string[]> {
  if (boot === null) return restoreArguments()
  await copyFile(boot.kernel, join(folder, KERNEL))
  await copyFile(boot.initramfs, join(folder, INITRAMFS))
  for (const name of [KERNEL, INITRAMFS]) await chmod(join(folder, name), 0o444)
  return bootArguments(machine, KERNEL, INITRAMFS)
}

/** The device state to load: the saved one, plus volume devices that it lacks. */
async function stateFile({ checkpoint, volumes, bake, folder }: Restore): Promise<string> {
  const { state, volumesState } = bakeFiles(bake)
  const saved = checkpoint?.folder == null ? state : checkpointFiles(checkpoint.folder).state
  if (!volumes.some(({ isNew }) => isNew)) return saved
  const path = join(folder, 'state')
  await writeFile(path, addVolumes(await readFile(saved), await readFile(volumesState), volumes), { flag: 'wx' })
  return path
}

/** Runs a guest whose CPUs are stopped. Concurrently: messages to the guest wait in its queue until its CPUs run. */
export async function continueGreeted(vm: Vm, greet: Greet, deadline: Deadline): Promise<void> {
  await Promise.all([vm.qmp.execute('cont', {}, deadline), greet(vm, deadline)])
}

/** Polls, because QEMU does not report that it has loaded the state. */
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
 * The error to report for a failed VM, with QEMU's last log lines if there are any. When QEMU dies, its sockets close: the
 * reason of its death is a better cause than the lost socket. A QEMU that hangs or refuses may have logged why.
 */
export async function explainFailure(vm: Vm, error: unknown): Promise<unknown> {
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
  const withLastWords = (message: string) => `${message}; QEMU's last words: ${words}`
  if (error instanceof DeadlineExceeded) return new DeadlineExceeded(withLastWords(error.message), { cause: error })
  if (error instanceof QmpConnectionError) return new QmpConnectionError(withLastWords(error.message), { cause: error })
  return error
}
