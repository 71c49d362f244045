import { readFile, type FileHandle } from 'node:fs/promises'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { addActiveLayer } from '../disks/active-layer.ts'
import { activeNode, frozenNode } from '../disks/layer-nodes.ts'
import type { DiskChain } from '../../store/disks/disk-chain.ts'
import { fileNodeOfLayer, newLayerId, nodeOfLayer, type LayerId } from '../../store/disks/layer-id.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import { BAKE_NODE, descriptorArguments, descriptorPath, FIRST_FILE_FD, restoreArguments } from '../vm/machine.ts'
import { setLowPriorityUntil, restorePriority } from '../vm/priority.ts'
import { type Greet, launchRestoring, orEnd, type Restore } from './restore.ts'
import { Vm } from '../vm/vm.ts'

/** Like a restore, but the capture has not yet written the checkpoint's newest layer, pages and state. */
export interface PrestartOptions extends Omit<Restore, 'greet' | 'volumes' | 'boot'> {
  /** Its `pages` and `runs` exist and are empty. `layers` are those below `frozen`. */
  readonly checkpoint: NonNullable<Restore['checkpoint']>
  /** The layer that the capture will freeze, to which the parent's QEMU still writes, and its file, open for reading. */
  readonly frozen: { readonly id: LayerId; readonly file: FileHandle }
  /** Aborts when the parent's guest continues. Until then this VM has low CPU priority, to keep that pause short. */
  readonly captured: AbortSignal
}

/**
 * A VM whose QEMU starts during the capture of its checkpoint: most of a restore is the start of QEMU, which needs no data
 * of the checkpoint.
 *
 *     starting ──► waiting for its state ──load──► running
 *
 * QEMU inherits the checkpoint's files when it starts, and reads the device state from a socket. The first byte of the state
 * tells the preload object that the pages are complete; nothing reads guest memory before. The agent inserts the frozen layer
 * below the VM's own layer before it sends the state. If the agent dies, the socket closes and QEMU ends.
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

  /** Resolves when QEMU waits for its state. Leaves no process behind if it fails. */
  static async start(options: PrestartOptions, deadline: Deadline): Promise<PrestartedVm> {
    const { folder, confinement, checkpoint, frozen } = options
    const disk: DiskChain = { active: newLayerId(), layers: checkpoint.layers }
    const { overlay: empty } = bakeFiles(options.bake)
    await addActiveLayer(folder, disk.active, { empty, uid: confinement.uid, isDurable: options.isDurable })
    const extras = (frozenFd: number) => ({
      args: [...descriptorArguments(frozenFd), ...restoreArguments()],
      files: [{ open: frozen.file }],
      env: { GUEST_STATE_FD: String(FIRST_FILE_FD) },
    })
    const { launched, firstFd: fdset } = await launchRestoring(
      { ...options, volumes: [] },
      disk,
      { socket: true },
      extras,
    )
    const vm = Vm.of(folder, launched, disk, options)
    setLowPriorityUntil(options.captured, launched.process)
    const { socket } = launched
    // The agent learns of QEMU's end from the monitor.
    socket?.on('error', () => undefined)
    return orEnd(vm, async () => {
      await traceStep('start of QEMU', () => vm.qmp.ready(deadline))
      if (socket === null) throw new Error('QEMU was started without a socket for its state')
      return new PrestartedVm(options, vm, disk, socket, fdset)
    })
  }

  /**
   * Loads the captured state, and resolves after {@link Greet}. Leaves no process behind if it fails.
   * @param statePath of the checkpoint, whose pages are complete and whose layer is frozen
   */
  async load(statePath: string, greet: Greet, deadline: Deadline): Promise<void> {
    const { vm } = this
    restorePriority(vm.process)
    await orEnd(vm, async () => {
      const [state] = await Promise.all([readFile(statePath), this.#addLayer(deadline)])
      await traceStep('load of the state', async () => {
        this.#state.end(state)
        await deadline.race(finished(this.#state, { readable: false }))
      })
      await traceStep('greeting of the guest', () => greet(vm, deadline))
    })
    this.#state.destroy()
  }

  /** Sends both commands at once: QEMU executes them in order. */
  async #addLayer(deadline: Deadline): Promise<void> {
    const { vm } = this
    const { active, layers } = this.#disk
    const {
      frozen: { id },
      isDurable,
    } = this.#options
    const below = layers.at(-1)
    const frozen = frozenNode(id, descriptorPath(this.#fdset), below === undefined ? BAKE_NODE : nodeOfLayer(below))
    const own = { ...activeNode(active, isDurable, nodeOfLayer(id)), file: fileNodeOfLayer(active) }
    await Promise.all([
      vm.qmp.execute('blockdev-add', frozen, deadline),
      vm.qmp.execute('blockdev-reopen', { options: [own] }, deadline),
    ])
    vm.disk = { active, layers: [...layers, id] }
  }
}
