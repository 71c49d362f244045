import { open, type FileHandle, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { Semaphore } from '@offshoot/kit/semaphore'
import { addLayer } from '../capture/capture.ts'
import { usedRuns } from '../capture/save-memory.ts'
import { JAIL_VM, type Jail } from '../host/jail.ts'
import { stopHeld } from '../guest/hold.ts'
import { channelFolder, makeChannel } from '../vm/channel.ts'
import { type ChildDescriptors, imprisonChild } from '../vm/confinement.ts'
import { type InheritedFile, type LaunchedQemu, startQemu } from '../vm/launch.ts'
import {
  CHANNELS,
  CONSOLE,
  CONTINUED_FD,
  descriptorPath,
  FIRST_FILE_FD,
  QMP_FD,
  TAP_FD,
  ZYGOTE_CHANNEL,
} from '../vm/machine.ts'
import { type OpenDescriptor, openDescriptors } from '../vm/open-descriptors.ts'
import { Vm } from '../vm/vm.ts'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { Layers } from '../../store/disks/layers.ts'
import { type DiskChain, MAX_LAYERS } from '../../store/disks/disk-chain.ts'
import { fileOfLayer, layerOfNode, type LayerId } from '../../store/disks/layer-id.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { addActiveLayer } from '../disks/active-layer.ts'
import { orEnd, restore, type Restore } from '../restore/restore.ts'

/** Milliseconds between two looks whether QEMU has closed the agent's connections. */
const LOOK_MS = 2
const MIB = 1024 * 1024
/** In the folder around the zygote's own: the pages that its guest has written, and all that its QEMU has used (`page-runs.ts`). */
const LISTS = ['written', 'used'] as const
/** Children that wait for the one that is being made. */
const MAX_WAITING = 1000

/** Descriptors that the launcher of a child opens anew, under the same numbers. */
const LAUNCHER_OPENS: ReadonlySet<number> = new Set([TAP_FD, ...Object.values(CHANNELS).map(({ fd }) => fd)])

export interface ZygoteOptions extends Omit<Restore, 'checkpoint' | 'volumes' | 'boot' | 'makesChildren' | 'layers'> {
  readonly layers: Layers
}
/** Where a child runs: as for a restore. Its machine and its disk are the zygote's. */
export type ZygoteChild = Pick<Restore, 'folder' | 'logPath' | 'confinement' | 'tap'>

/** The files of a VM that a child is to continue (`continued-vm.ts`), each list with the lowest layer first. */
export interface ContinuedFiles {
  readonly memory: readonly MemoryFiles[]
  /** At most {@link MAX_LAYERS}. */
  readonly disk: readonly InheritedFile[]
}

/** What children need to know of the zygote's QEMU. */
interface Machinery {
  /**
   * Its disk: a frozen layer with what the guest wrote while it was prepared, and an empty one. A child gets an empty layer of its
   * own in the place of that, which it freezes at once. So all children have the same two layers below their disks.
   */
  readonly disk: DiskChain
  /** The path of the device that reads and writes the disk. */
  readonly diskDevice: string
  /** Sets of descriptors, and the one descriptor of each, in whose places a child gets the layers of another VM's disk. */
  readonly reserved: readonly { readonly set: number; readonly fd: number }[]
}

/**
 * A VM that stands still and is copied by its host, threads and all (native/zygote.c, docs/adr/0046-zygotes.md). A copy has the
 * guest's code already translated, which a restored VM must do again. Under TCG only, and only with a jail.
 *
 * The zygote keeps rights that no other QEMU has, so it may only run a guest in which no stranger's code has run.
 */
export class Zygote {
  readonly vm: Vm
  /** `false`: a child could not continue another VM, so no other is asked to. */
  canContinue = true
  readonly #options: ZygoteOptions
  readonly #machinery: Machinery
  /** Its open files, which do not change while it stands still; `null`: unknown. A zygote that has another one makes no child. */
  #openFiles: readonly OpenDescriptor[] | null = null
  /** One child at a time. */
  readonly #turns = new Semaphore(1, MAX_WAITING)

  private constructor(options: ZygoteOptions, vm: Vm, machinery: Machinery) {
    this.#options = options
    this.vm = vm
    this.#machinery = machinery
  }

  /** The layers below the disk of every child, the lowest first. They are needed as long as the zygote exists. */
  get layers(): readonly LayerId[] {
    const { active, layers } = this.#machinery.disk
    return [...layers, active]
  }

  get diskDevice(): string {
    return this.#machinery.diskDevice
  }

  /**
   * Restores a guest from its template, prepares it, and stops it. Leaves no process behind if it fails.
   * @param prepare lets the guest run what its children should not have to translate
   */
  static async start(options: ZygoteOptions, prepare: (vm: Vm) => Promise<void>, deadline: Deadline): Promise<Zygote> {
    const vm = await restore({ ...options, checkpoint: null, volumes: [], boot: null, makesChildren: true }, deadline)
    return orEnd(vm, async () => {
      await prepare(vm)
      await stopHeld(vm, deadline)
      await addLayer(vm, { ...options, uid: options.confinement.uid }, deadline)
      const machinery = await machineryOf(vm, deadline)
      const lists = pagesOf(vm, options)
      for (const name of LISTS) await writeFile(listOf(vm, name), lists[name], { mode: 0o400 })
      await vm.closeLink()
      return new Zygote(options, vm, machinery)
    })
  }

  /** Makes a child, which stands still as its zygote does, with processes held. Leaves no process behind if it fails. */
  async fork(child: ZygoteChild, deadline: Deadline): Promise<Vm> {
    const { bake, layers } = this.#options
    const vm = await this.#copy(child, null, deadline)
    await orEnd(vm, () => addLayer(vm, { bake, uid: child.confinement.uid, layers }, deadline))
    return vm
  }

  /**
   * Makes a child that can load another VM's state, and stands still. Leaves no process behind if it fails.
   * @returns also the paths by which its QEMU opens the files of that VM's disk
   */
  async forkToContinue(
    child: ZygoteChild,
    files: ContinuedFiles,
    deadline: Deadline,
  ): Promise<{ vm: Vm; paths: readonly string[] }> {
    const places = this.#machinery.reserved.slice(0, files.disk.length)
    if (places.length < files.disk.length) throw new Error('a disk has more layers than a child of a zygote can have')
    return { vm: await this.#copy(child, files, deadline), paths: places.map(({ set }) => descriptorPath(set)) }
  }

  async #copy(child: ZygoteChild, files: ContinuedFiles | null, deadline: Deadline): Promise<Vm> {
    const { confinement } = child
    const { jail = null, uid } = confinement
    if (jail === null) throw new Error('a child of a zygote needs a jail')
    const { bake, isDurable } = this.#options
    const { disk } = this.#machinery
    // A child that continues another VM gets another layer in its place.
    const place = { empty: bakeFiles(bake).overlay, uid, isDurable: isDurable && files === null }
    await addActiveLayer(child.folder, disk.active, place)
    const console = await newConsole(child)
    try {
      const launch = async () => {
        this.#openFiles ??= await this.#listOpenFiles(deadline)
        return this.#launch(child, jail, { console, continued: files })
      }
      return Vm.of(child.folder, await this.#turns.run(launch, deadline.signal), disk, { isDurable, confinement })
    } catch (error) {
      this.#openFiles = null
      throw error
    } finally {
      await console.close()
    }
  }

  async #launch(child: ZygoteChild, jail: Jail, given: Given): Promise<LaunchedQemu> {
    const { folder, logPath, confinement, tap } = child
    const { files, descriptors } = this.#plan(child, given)
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
  #plan(
    { folder }: ZygoteChild,
    { console, continued }: Given,
  ): { files: InheritedFile[]; descriptors: ChildDescriptors } {
    const { layers } = this.#options
    const { disk, reserved } = this.#machinery
    const { active, layers: frozen } = disk
    const taken = new Map(continued?.disk.map((file, at) => [reserved[at]?.fd, file]))
    const files: InheritedFile[] = []
    const over: [number, number][] = [[QMP_FD, QMP_FD]]
    const renewed: number[] = []
    const shared: number[] = []
    const replace = (fd: number, file: InheritedFile) => over.push([FIRST_FILE_FD + files.push(file) - 1, fd])
    // QEMU names its disk's files as it opened them: in its working directory.
    const written = new Map(frozen.map((id) => [join(JAIL_VM, fileOfLayer(id)), id]))
    for (const { fd, name, isWritable } of this.#openFiles ?? []) {
      const layer = written.get(name)
      const takenFile = taken.get(fd)
      if (fd === QMP_FD || fd === ZYGOTE_CHANNEL.fd || LAUNCHER_OPENS.has(fd)) continue
      if (fd === 1 || fd === 2) over.push([fd, fd])
      else if (takenFile !== undefined) replace(fd, takenFile)
      else if (layer !== undefined) replace(fd, layers.path(layer))
      else if (name === join(JAIL_VM, fileOfLayer(active))) replace(fd, { writable: join(folder, fileOfLayer(active)) })
      else if (name === join(JAIL_VM, CONSOLE)) replace(fd, { open: console })
      else if (name === 'anon_inode:[eventfd]') renewed.push(fd)
      else if (name === 'anon_inode:[signalfd]' || !isWritable || name === '/dev/null') shared.push(fd)
      else throw new Error(`QEMU has ${name} open, which its children must not have`)
    }
    if (continued !== null) {
      const memory = continued.memory.flatMap(({ pages, runs }) => [pages, runs])
      const lists = LISTS.map((name) => listOf(this.vm, name))
      for (const [at, path] of [...lists, ...memory].entries()) replace(CONTINUED_FD + at, path)
    }
    const images = this.#options.isDurable ? CHANNELS.image.fd : null
    return { files, descriptors: { over, renewed, shared, images, memoryLayers: continued?.memory.length ?? null } }
  }

  /** Waits until the only sockets are those that QEMU listens on, and its monitor. */
  async #listOpenFiles(deadline: Deadline): Promise<OpenDescriptor[]> {
    for (;;) {
      const all = await openDescriptors(this.vm.process)
      const known = new Set([QMP_FD, ZYGOTE_CHANNEL.fd, ...LAUNCHER_OPENS])
      if (!all.some(({ fd, name }) => name.startsWith('socket:') && !known.has(fd))) return all
      await deadline.race(wait(LOOK_MS))
    }
  }
}

/** What the agent opens for a child. */
interface Given {
  readonly console: FileHandle
  /** `null`: it continues no other VM. */
  readonly continued: ContinuedFiles | null
}

async function machineryOf(vm: Vm, deadline: Deadline): Promise<Machinery> {
  const [sets, devices] = await Promise.all([
    vm.qmp.execute('query-fdsets', {}, deadline),
    vm.qmp.execute('query-blockstats', {}, deadline),
  ])
  const { disk } = vm
  const { qdev: diskDevice } = devices.find((device) => layerOfNode(device['node-name'] ?? '') === disk?.active) ?? {}
  if (disk === null || diskDevice === undefined) throw new Error('a VM without layers cannot be a zygote')
  // A zygote has no other sets: neither layers nor volumes.
  const reserved = sets.flatMap(({ 'fdset-id': set, fds }) => fds.map(({ fd }) => ({ set, fd })))
  if (reserved.length !== MAX_LAYERS) throw new Error(`a zygote has ${reserved.length} places for layers of others`)
  return { disk, diskDevice, reserved }
}

function pagesOf({ process: { pid } }: Vm, { bake, machine: { memoryMib } }: ZygoteOptions) {
  return usedRuns({ pid, bakeMemory: bakeFiles(bake).memory, memoryBytes: memoryMib * MIB })
}

function listOf({ folder }: Vm, name: (typeof LISTS)[number]): string {
  return join(dirname(folder), name)
}

/** The file for the child's serial console, which QEMU would otherwise make itself. */
async function newConsole({ folder, confinement: { uid } }: ZygoteChild): Promise<FileHandle> {
  const file = await open(join(folder, CONSOLE), 'ax', 0o600)
  if (uid !== null) await file.chown(uid, uid)
  return file
}
