import { readFile, type FileHandle } from 'node:fs/promises'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Deadline } from '@offshoot/kit/deadline'
import { addActiveLayer } from '../disks/active-layer.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { fileNodeOfLayer, newLayerId, nodeOfLayer, type LayerId } from '../../store/disks/layer-id.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { inheritance } from './inheritance.ts'
import { launch } from '../vm/launch.ts'
import {
  BAKE_NODE,
  descriptorArguments,
  descriptorPath,
  FIRST_FILE_FD,
  LAYER_DISCARD,
  restoreArguments,
} from '../vm/machine.ts'
import { giveWayUntil, stopGivingWay } from '../vm/priority.ts'
import { endedWith, type Greet, imaging, type Restore } from './restore.ts'
import { Vm } from '../vm/vm.ts'

const KILL_MS = 5000

/** As with a restore, but that the newest layer, the pages and the state of the checkpoint are still to come. */
export interface PrestartOptions extends Omit<Restore, 'greet' | 'volumes' | 'boot'> {
  /** Its `pages` and `runs` are there, and empty; `layers` are those below the one that is going to be frozen. */
  readonly checkpoint: NonNullable<Restore['checkpoint']>
  /** The layer that is going to be frozen, which another QEMU still writes, and its file, open for reading. */
  readonly frozen: { readonly id: LayerId; readonly file: FileHandle }
  /** Aborts when the captured guest runs on: until then it stands still, and has every CPU that it can use. */
  readonly captured: AbortSignal
}

/**
 * A QEMU that starts beside the capture of what its guest will be: most of a restore is QEMU's own start, which needs
 * nothing of the checkpoint.
 *
 *     starting ──► waiting for its state ──load──► runs
 *
 * It has the checkpoint's files from the first, and the state comes over a socket: that its first byte is there tells the
 * preload object that the pages are whole. Before that nothing of guest or memory is looked at. The frozen layer is put
 * below its own just before. When we die the socket closes, and QEMU ends.
 */
export class PrestartedVm {
  readonly vm: Vm
  readonly #options: PrestartOptions
  readonly #disk: DiskChain
  readonly #state: Duplex
  readonly #fdset: number

  private constructor(options: PrestartOptions, vm: Vm, disk: DiskChain, state: Duplex, fdset: number) {
    this.#options = options
    this.#disk = disk
    this.vm = vm
    this.#state = state
    this.#fdset = fdset
  }

  /** Resolves when QEMU waits. Whatever fails, no process is left. */
  static async start(options: PrestartOptions, deadline: Deadline): Promise<PrestartedVm> {
    const { folder, logPath, confinement, checkpoint, frozen } = options
    const disk: DiskChain = { active: newLayerId(), layers: checkpoint.layers }
    await addActiveLayer(folder, disk.active, bakeFiles(options.bake).overlay, confinement.uid)
    const { args, files, env } = inheritance({ ...options, volumes: [] }, disk, { socket: true })
    const fdset = FIRST_FILE_FD + files.push({ open: frozen.file }) - 1
    const launched = await launch({
      qemu: options.qemu,
      args: [...args, ...descriptorArguments(fdset, nodeOfLayer(frozen.id)), ...restoreArguments()],
      folder,
      logPath,
      confinement,
      tap: options.tap,
      bake: options.bake,
      accelerator: options.machine.accelerator,
      files,
      preload: { path: options.preload, env: { ...env, ...imaging(options), GUEST_STATE_FD: String(FIRST_FILE_FD) } },
    })
    const vm = new Vm(folder, launched, disk)
    giveWayUntil(options.captured, launched.process)
    const { socket } = launched
    // QEMU's end is told by the monitor.
    socket?.on('error', () => undefined)
    return PrestartedVm.#orEnd(vm, async () => {
      await vm.qmp.ready(deadline)
      if (socket === null) throw new Error('QEMU was started without a socket for its state')
      return new PrestartedVm(options, vm, disk, socket, fdset)
    })
  }

  /**
   * Lets the guest be what was captured, and answers when it has been greeted. Whatever fails, no process is left.
   * @param statePath of the checkpoint, whose pages are whole and whose layer is frozen
   */
  async load(statePath: string, greet: Greet, deadline: Deadline): Promise<void> {
    const { vm } = this
    stopGivingWay(vm.process)
    await PrestartedVm.#orEnd(vm, async () => {
      const [state] = await Promise.all([readFile(statePath), this.#addLayer(deadline)])
      this.#state.end(state)
      await deadline.race(finished(this.#state, { readable: false }))
      await greet(vm, deadline)
    })
    this.#state.destroy()
  }

  /** Both at once: QEMU does one after the other. */
  async #addLayer(deadline: Deadline): Promise<void> {
    const { vm } = this
    const { active, layers } = this.#disk
    const {
      frozen: { id },
      isDurable,
    } = this.#options
    const below = layers.at(-1)
    const frozen = {
      driver: 'qcow2',
      cache: { 'no-flush': true },
      'node-name': nodeOfLayer(id),
      file: { driver: 'file', filename: descriptorPath(this.#fdset) },
      'read-only': true,
      backing: below === undefined ? BAKE_NODE : nodeOfLayer(below),
    } as const
    const own = {
      driver: 'qcow2',
      cache: { 'no-flush': !isDurable },
      discard: LAYER_DISCARD,
      'node-name': nodeOfLayer(active),
      file: fileNodeOfLayer(active),
      backing: nodeOfLayer(id),
    } as const
    await Promise.all([
      vm.qmp.execute('blockdev-add', frozen, deadline),
      vm.qmp.execute('blockdev-reopen', { options: [own] }, deadline),
    ])
    vm.disk = { active, layers: [...layers, id] }
  }

  static async #orEnd<T>(vm: Vm, step: () => Promise<T>): Promise<T> {
    try {
      return await step()
    } catch (error) {
      const cause = await endedWith(vm, error)
      await vm.kill(Deadline.after(KILL_MS, 'end of a VM that did not start'))
      throw cause
    }
  }
}
