import { open, type FileHandle } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { addLayer } from '../capture/capture.ts'
import { JAIL_VM, type Jail } from '../host/jail.ts'
import { stopHeld } from '../guest/hold.ts'
import { channelFolder, makeChannel } from '../vm/channel.ts'
import { type ChildDescriptors, imprisonChild } from '../vm/confinement.ts'
import { type InheritedFile, type LaunchedQemu, startQemu } from '../vm/launch.ts'
import { CHANNELS, CONSOLE, FIRST_FILE_FD, QMP_FD, TAP_FD, ZYGOTE_CHANNEL } from '../vm/machine.ts'
import { type OpenDescriptor, openDescriptors } from '../vm/open-descriptors.ts'
import { Vm } from '../vm/vm.ts'
import type { Layers } from '../../store/disks/layers.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { fileOfLayer, type LayerId } from '../../store/disks/layer-id.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { addActiveLayer } from '../disks/active-layer.ts'
import { explainFailure, restore, type Restore } from '../restore/restore.ts'

/** Milliseconds between two looks whether QEMU has closed the agent's connections. */
const LOOK_MS = 2
const KILL_MS = 5000

/** Descriptors that the launcher of a child opens anew, under the same numbers. */
const LAUNCHER_OPENS: ReadonlySet<number> = new Set([TAP_FD, ...Object.values(CHANNELS).map(({ fd }) => fd)])

export interface ZygoteOptions extends Omit<Restore, 'checkpoint' | 'volumes' | 'boot' | 'makesChildren' | 'layers'> {
  readonly layers: Layers
}
/** Where a child runs: as for a restore. Its machine and its disk are the zygote's. */
export type ZygoteChild = Pick<Restore, 'folder' | 'logPath' | 'confinement' | 'tap'>

/**
 * A VM that stands still and is copied by its host, threads and all (native/zygote.c, docs/adr/0046-zygotes.md). A copy has the
 * guest's code already translated, which a restored VM must do again. Under TCG only, and only with a jail.
 *
 * The zygote keeps rights that no other QEMU has, so it may only run a guest in which no stranger's code has run.
 */
export class Zygote {
  readonly vm: Vm
  readonly #options: ZygoteOptions
  /**
   * Its disk: a frozen layer with what the guest wrote while it was prepared, and an empty one. A child gets an empty layer of its
   * own in the place of that, which it freezes at once. So all children have the same two layers below their disks.
   */
  readonly #disk: DiskChain

  private constructor(options: ZygoteOptions, vm: Vm, disk: DiskChain) {
    this.#options = options
    this.vm = vm
    this.#disk = disk
  }

  /** The layers below the disk of every child. They are needed as long as the zygote exists. */
  get layers(): readonly LayerId[] {
    return [...this.#disk.layers, this.#disk.active]
  }

  /**
   * Restores a guest from its template, prepares it, and stops it. Leaves no process behind if it fails.
   * @param prepare lets the guest run what its children should not have to translate
   */
  static async start(options: ZygoteOptions, prepare: (vm: Vm) => Promise<void>, deadline: Deadline): Promise<Zygote> {
    const vm = await restore({ ...options, checkpoint: null, volumes: [], boot: null, makesChildren: true }, deadline)
    try {
      await prepare(vm)
      await stopHeld(vm, deadline)
      await addLayer(vm, { ...options, uid: options.confinement.uid }, deadline)
      if (vm.disk === null) throw new Error('a VM without layers cannot be a zygote')
      await vm.closeLink()
      return new Zygote(options, vm, vm.disk)
    } catch (error) {
      const cause = await explainFailure(vm, error)
      await vm.kill(Deadline.after(KILL_MS, 'end of a zygote that did not start'))
      throw cause
    }
  }

  /**
   * Makes a child, which stands still as its zygote does, with processes held. Not concurrently. Leaves no process behind if it
   * fails.
   */
  async fork(child: ZygoteChild, deadline: Deadline): Promise<Vm> {
    const { jail = null } = child.confinement
    if (jail === null) throw new Error('a child of a zygote needs a jail')
    const { bake, layers, isDurable } = this.#options
    const { folder, confinement } = child
    const place = { bake, uid: confinement.uid }
    await addActiveLayer(folder, this.#disk.active, { ...place, empty: bakeFiles(bake).overlay, isDurable })
    const console = await newConsole(child)
    try {
      const launched = await this.#launch(child, jail, console, deadline)
      const vm = Vm.of(folder, launched, this.#disk, { isDurable, confinement })
      try {
        await addLayer(vm, { ...place, layers }, deadline)
        return vm
      } catch (error) {
        const cause = await explainFailure(vm, error)
        await vm.kill(Deadline.after(KILL_MS, 'end of a child of a zygote'))
        throw cause
      }
    } finally {
      await console.close()
    }
  }

  async #launch(child: ZygoteChild, jail: Jail, console: FileHandle, deadline: Deadline): Promise<LaunchedQemu> {
    const { folder, logPath, confinement, tap } = child
    const { files, descriptors } = await this.#plan(child, console, deadline)
    const socket = relative(folder, join(channelFolder(this.vm.folder), ZYGOTE_CHANNEL.name))
    const zygote = { socket, pid: this.vm.process.pid }
    const start = { folder, logPath, files, env: {}, isJailed: true, isGreeted: true }
    return startQemu(start, async (reportFd) => {
      await makeChannel(folder)
      const place = { jail, confinement, folder, tap: tap?.tap ?? null, reportFd }
      return imprisonChild(zygote, descriptors, { ...place, bake: this.#options.bake, accelerator: 'tcg' })
    })
  }

  async end(deadline: Deadline): Promise<void> {
    await this.vm.kill(deadline)
  }

  /** What the child gets for each open file of the zygote. @throws Error if there is one that it must not have */
  async #plan(
    { folder }: ZygoteChild,
    console: FileHandle,
    deadline: Deadline,
  ): Promise<{ files: InheritedFile[]; descriptors: ChildDescriptors }> {
    const { layers } = this.#options
    const { active, layers: frozen } = this.#disk
    const files: InheritedFile[] = []
    const over: [number, number][] = [[QMP_FD, QMP_FD]]
    const renewed: number[] = []
    const shared: number[] = []
    const replace = (fd: number, file: InheritedFile) => over.push([FIRST_FILE_FD + files.push(file) - 1, fd])
    // QEMU names its disk's files as it opened them: in its working directory.
    const written = new Map(frozen.map((id) => [join(JAIL_VM, fileOfLayer(id)), id]))
    for (const { fd, name, isWritable } of await this.#openFiles(deadline)) {
      const layer = written.get(name)
      if (fd === QMP_FD || fd === ZYGOTE_CHANNEL.fd || LAUNCHER_OPENS.has(fd)) continue
      if (fd === 1 || fd === 2) over.push([fd, fd])
      else if (layer !== undefined) replace(fd, layers.path(layer))
      else if (name === join(JAIL_VM, fileOfLayer(active))) replace(fd, { writable: join(folder, fileOfLayer(active)) })
      else if (name === join(JAIL_VM, CONSOLE)) replace(fd, { open: console })
      else if (name === 'anon_inode:[eventfd]') renewed.push(fd)
      else if (name === 'anon_inode:[signalfd]' || !isWritable || name === '/dev/null') shared.push(fd)
      else throw new Error(`QEMU has ${name} open, which its children must not have`)
    }
    const images = this.#options.isDurable ? CHANNELS.image.fd : null
    return { files, descriptors: { over, renewed, shared, images } }
  }

  /** Waits until the only sockets are those that QEMU listens on, and its monitor. */
  async #openFiles(deadline: Deadline): Promise<OpenDescriptor[]> {
    for (;;) {
      const all = await openDescriptors(this.vm.process)
      const known = new Set([QMP_FD, ZYGOTE_CHANNEL.fd, ...LAUNCHER_OPENS])
      if (!all.some(({ fd, name }) => name.startsWith('socket:') && !known.has(fd))) return all
      await deadline.race(wait(LOOK_MS))
    }
  }
}

/** The file for the child's serial console, which QEMU would otherwise make itself. */
async function newConsole({ folder, confinement: { uid } }: ZygoteChild): Promise<FileHandle> {
  const file = await open(join(folder, CONSOLE), 'ax', 0o600)
  if (uid !== null) await file.chown(uid, uid)
  return file
}
