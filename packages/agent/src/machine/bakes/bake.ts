import { chmod, chown, copyFile, lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TemplateImage } from '@offshoot/contract/template-image'
import { Deadline } from '@offshoot/kit/deadline'
import { writeFileDurably } from '@offshoot/kit/write-file-durably'
import { linkOrCopy } from '../../store/disks/link-or-copy.ts'
import { validateLayer } from '../disks/validate-layer.ts'
import { createLayer, type Backing } from '../disks/qcow2.ts'
import { explainByDisk } from '../../store/data-dir/full-disk.ts'
import { runProgram } from '../host/run-program.ts'
import { bakeFiles, LOWER, ROOTFS, type BakeFiles } from '../../store/bakes/bake-files.ts'
import { formatBakeManifest } from '../../store/bakes/bake-manifest.ts'
import { channelFolder } from '../vm/channel.ts'
import type { Confinement, TapGiver } from '../vm/confinement.ts'
import { stopHeld } from '../guest/hold.ts'
import type { BakeImages } from '../../store/bakes/images.ts'
import { describeEnd, launch } from '../vm/launch.ts'
import {
  BOOT_DISK,
  bootArguments,
  CONSOLE,
  GUEST_SOCKET,
  machineArguments,
  QMP_SOCKET,
  type Machine,
} from '../vm/machine.ts'
import type { PrepareGuest } from './prepare-guest.ts'
import { explainFailure } from '../restore/restore.ts'
import { Vm } from '../vm/vm.ts'
import { requestLostInterrupts } from '../vm/lost-interrupts.ts'
import { cutVolumes, EMPTY_DEVICES } from '../vm/volume-devices.ts'
import { warmGuest } from './warm-guest.ts'

export interface Bake {
  readonly qemu: string
  readonly machine: Machine
  readonly image: TemplateImage
  readonly images: BakeImages
  /** `bakes/NAME/FINGERPRINT`. It must not exist yet. */
  readonly folder: string
  readonly fingerprint: string
  readonly confinement: Confinement
  /** A TAP without egress: a template must not depend on other machines. `null`: no TAP. */
  readonly tap: TapGiver | null
  readonly limit?: (pid: number) => Promise<void>
  readonly prepare: PrepareGuest
  /** Milliseconds until the guest's first answer. If absent, only the bake's deadline limits it. */
  readonly bootMs?: number
}

const KERNEL = 'vmlinuz'
const INITRAMFS = 'initramfs.cpio.gz'
const KILL_MS = 5000

/**
 * Boots a template once and saves its memory, devices and disk. Works in a temporary folder and renames it at the end, so
 * that a folder with the final name is always complete.
 * @throws Error with the cause; leaves nothing behind
 */
export async function bake(options: Bake, deadline: Deadline): Promise<void> {
  const draft = join(dirname(options.folder), `.new-${options.fingerprint}`)
  const logPath = `${draft}.log`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o711 })
  try {
    const files = bakeFiles(draft)
    await createFiles(options, draft, files, deadline)
    const guestIp = await bootAndSave(options, draft, logPath, deadline)
    await freeze(options, files, deadline)
    await writeFileDurably(files.manifest, formatBakeManifest(options.image, options.fingerprint, guestIp))
    await rename(draft, options.folder)
  } catch (error) {
    const cause = await explainByDisk(error, dirname(draft))
    await rm(draft, { recursive: true, force: true })
    throw cause
  } finally {
    await rm(logPath, { force: true })
    await rm(channelFolder(draft), { recursive: true, force: true })
  }
}

async function createFiles(
  { image, images, machine, confinement }: Bake,
  folder: string,
  files: BakeFiles,
  deadline: Deadline,
) {
  await linkOrCopy(images.rootfs(image.name), files.rootfs)
  await copyFile(images.kernel, join(folder, KERNEL))
  await copyFile(images.initramfs, join(folder, INITRAMFS))
  const { size } = await stat(files.rootfs)
  if (images.lower != null) await linkOrCopy(images.lower, files.lower)
  await createLayer(files.disk, { ...backingOf(images), bytes: size }, deadline)
  const memory = await open(files.memory, 'wx', 0o600)
  await memory.truncate(machine.memoryMib * 1024 * 1024)
  await memory.close()
  for (const name of [KERNEL, INITRAMFS]) await chmod(join(folder, name), 0o444)
  if (confinement.uid === null) return
  for (const path of [folder, files.disk, files.memory]) await chown(path, confinement.uid, confinement.uid)
}

/** The backing file of a bake's disk. */
function backingOf({ lower }: BakeImages): Pick<Backing, 'path' | 'format'> {
  return lower == null ? { path: ROOTFS, format: 'raw' } : { path: LOWER, format: 'qcow2' }
}

/** @returns the guest's address; `null` without a network */
async function bootAndSave(options: Bake, folder: string, logPath: string, deadline: Deadline): Promise<string | null> {
  const { machine, confinement } = options
  const launched = await launch({
    qemu: options.qemu,
    args: [
      ...machineArguments(
        machine,
        { path: 'memory', isShared: true },
        BOOT_DISK,
        EMPTY_DEVICES,
        confinement.jail == null ? 'paths' : 'inherited',
      ),
      ...bootArguments(machine, KERNEL, INITRAMFS),
    ],
    folder,
    logPath,
    confinement,
    tap: options.tap,
    accelerator: machine.accelerator,
    files: [],
    preload: null,
  })
  const vm = new Vm(folder, launched, null)
  try {
    const died = vm.ended.then(async (end) => {
      throw await describeEnd(launched.log, end)
    })
    died.catch(() => undefined)
    return await Promise.race([died, save(vm, options, deadline)])
  } catch (error) {
    throw await explainFailure(vm, error)
  } finally {
    await vm.kill(Deadline.after(KILL_MS, 'end of a baked VM'))
  }
}

async function save(vm: Vm, options: Bake, deadline: Deadline): Promise<string | null> {
  const { image, machine, limit, prepare, bootMs } = options
  const booted = bootMs === undefined ? deadline : deadline.within(bootMs, 'boot of a guest')
  await vm.qmp.ready(booted)
  await limit?.(vm.process.pid)
  const link = await vm.link(booted)
  const guestIp = await prepare(link, image, deadline)
  // The same limit, under the name of the step: a guest that does not answer must say in which one.
  const step = (what: string) => deadline.within(deadline.remainingMs, `${what} of ${image.name}`)
  await link.quiesce(step('quiesce'))
  await warmGuest(link, machine.network, step('warming'))
  // In the saved state the guest's processes are held: none may run in a sandbox before it has its identity.
  await stopHeld(vm, step('stop'))
  await vm.qmp.execute('xen-save-devices-state', { filename: 'state', live: false }, deadline)
  // QEMU flushes the disk's layer when it quits.
  await vm.qmp.execute('quit', {}, deadline)
  await step('end of the VM').race(vm.ended)
  return guestIp
}

/** Makes the files the agent's own and read-only, and deletes those that only the boot needed. */
async function freeze(options: Bake, files: BakeFiles, deadline: Deadline): Promise<void> {
  const folder = dirname(files.memory)
  // QEMU's user could write to this folder: a compromised QEMU may have left a link instead of a file.
  for (const path of [files.disk, files.memory, files.state]) {
    if (!(await lstat(path)).isFile()) throw new Error(`${path} is no file`)
  }
  await validateLayer(files.disk, backingOf(options.images))
  for (const name of [KERNEL, INITRAMFS, CONSOLE, QMP_SOCKET, GUEST_SOCKET]) {
    await rm(join(folder, name), { force: true })
  }
  const { state, volumes } = cutVolumes(requestLostInterrupts(await readFile(files.state)))
  await writeFile(files.state, state)
  await writeFile(files.volumesState, volumes, { flag: 'wx', mode: 0o400 })
  // Turns zero pages into holes, so that guests that map the file need less page cache. Some file systems do not support it.
  await runProgram('fallocate', ['--dig-holes', files.memory], deadline).catch(() => undefined)
  const { size } = await stat(files.rootfs)
  const place = `../../../bakes/${options.image.name}/${options.fingerprint}`
  await createLayer(files.overlay, { path: `${place}/disk.qcow2`, format: 'qcow2', bytes: size }, deadline)
  await chmod(files.overlay, 0o600)
  if (options.confinement.uid !== null) {
    for (const path of [folder, files.disk, files.memory, files.state]) await chown(path, 0, 0)
  }
  for (const path of [files.disk, files.memory]) await chmod(path, 0o444)
  await chmod(files.state, 0o400)
  for (const path of [files.disk, files.memory, files.state, files.volumesState, files.overlay]) await sync(path)
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
