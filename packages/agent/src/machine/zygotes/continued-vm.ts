import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import { bakeFiles } from '../../store/bakes/bake-files.ts'
import type { MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { fileNodeOfLayer, fileOfLayer, newLayerId, nodeOfLayer, type LayerId } from '../../store/disks/layer-id.ts'
import { addActiveLayer } from '../disks/active-layer.ts'
import { activeNode, frozenNode } from '../disks/layer-nodes.ts'
import { continueGreeted, type Greet, orEnd } from '../restore/restore.ts'
import type { InheritedFile } from '../vm/launch.ts'
import { BAKE_NODE, CONTINUED_PATH, CONTINUED_STATE } from '../vm/machine.ts'
import { withoutPlainCpus } from '../vm/plain-cpus.ts'
import type { Vm } from '../vm/vm.ts'
import type { Zygote, ZygoteChild } from './zygote.ts'

/** The VM to continue. Its machine, bake and QEMU are those of the zygote. */
export interface ContinueOptions extends ZygoteChild {
  readonly zygote: Zygote
  /** Folder of the bake. */
  readonly bake: string
  readonly isDurable: boolean
  /** The layers of its memory, the lowest first. Their files exist, and are complete when {@link ContinuedVm.load} is called. */
  readonly memory: readonly MemoryFiles[]
  /**
   * The layers of its disk, the lowest first, and their files; at most `MAX_LAYERS`. All but the last are complete already, the last
   * when {@link ContinuedVm.load} is called.
   */
  readonly disk: readonly { readonly id: LayerId; readonly file: InheritedFile }[]
}

/**
 * A copy of a zygote that continues another VM: it gets that one's memory, disk and devices in the place of the zygote's, and keeps
 * the translated code (native/zygote-state.c, docs/adr/0065-copies-continue.md). It enters its own jail before it reads any of them.
 */
export class ContinuedVm {
  readonly vm: Vm
  readonly #options: ContinueOptions
  /** Where QEMU finds the files of the disk. */
  readonly #paths: readonly string[]
  readonly #active: LayerId

  private constructor(options: ContinueOptions, vm: Vm, paths: readonly string[], active: LayerId) {
    this.#options = options
    this.vm = vm
    this.#paths = paths
    this.#active = active
  }

  /** Makes the copy, which then waits for the state of its devices. Leaves no process behind if it fails. */
  static async start(options: ContinueOptions, deadline: Deadline): Promise<ContinuedVm> {
    const { zygote, memory, disk } = options
    const files = { memory, disk: disk.map(({ file }) => file) }
    const { vm, paths } = await traceStep('copy of a zygote', () => zygote.forkToContinue(options, files, deadline))
    const copy = new ContinuedVm(options, vm, paths, newLayerId())
    await orEnd(vm, () => copy.#replaceDisk(deadline))
    return copy
  }

  /**
   * Loads the state, and resolves after {@link Greet}. Leaves no process behind if it fails.
   * @param statePath of the checkpoint, which is complete
   */
  async load(statePath: string, greet: Greet, deadline: Deadline): Promise<void> {
    await orEnd(this.vm, async () => {
      await traceStep('load of the state', () => this.#loadState(statePath, deadline))
      await traceStep('greeting of the guest', () => continueGreeted(this.vm, greet, deadline))
    })
  }

  /**
   * Puts an empty layer in the place of the zygote's disk, and opens the layers that are complete. QEMU has no nodes of the zygote's
   * disk by then, because some may be layers of the VM to continue. It executes the commands in order.
   */
  async #replaceDisk(deadline: Deadline): Promise<void> {
    const { vm } = this
    const { zygote, bake, confinement, isDurable } = this.#options
    const active = this.#active
    await addActiveLayer(vm.folder, active, { empty: bakeFiles(bake).overlay, uid: confinement.uid, isDurable })
    const file = { driver: 'file', filename: fileOfLayer(active), 'node-name': fileNodeOfLayer(active) } as const
    const drive = { path: zygote.diskDevice, property: 'drive', value: nodeOfLayer(active) }
    // Top down: QEMU deletes only a node that no other node uses.
    const given = zygote.layers.toReversed()
    await Promise.all([
      vm.qmp.execute('blockdev-add', { ...activeNode(active, isDurable, BAKE_NODE), file }, deadline),
      vm.qmp.execute('qom-set', drive, deadline),
      ...given.map((id) => vm.qmp.execute('blockdev-del', { 'node-name': nodeOfLayer(id) }, deadline)),
      ...this.#frozen.slice(0, -1).map((layer) => vm.qmp.execute('blockdev-add', layer, deadline)),
    ])
    vm.disk = { active, layers: [] }
    await Promise.all(given.map((id) => rm(join(vm.folder, fileOfLayer(id)), { force: true })))
  }

  /** The nodes of the layers, the lowest first. */
  get #frozen() {
    const { disk } = this.#options
    return disk.map(({ id }, at) => {
      const below = disk[at - 1]
      return frozenNode(id, this.#paths[at] ?? '', below === undefined ? BAKE_NODE : nodeOfLayer(below.id))
    })
  }

  /** Sends all commands at once: QEMU executes them in order. */
  async #loadState(statePath: string, deadline: Deadline): Promise<void> {
    const { vm } = this
    const { disk, isDurable } = this.#options
    const active = this.#active
    const state = join(vm.folder, CONTINUED_STATE)
    await writeFile(state, withoutPlainCpus(await readFile(statePath)), { flag: 'wx', mode: 0o444 })
    const last = this.#frozen.slice(-1)
    const own = { ...activeNode(active, isDurable, last[0]?.['node-name'] ?? BAKE_NODE), file: fileNodeOfLayer(active) }
    await Promise.all([
      ...last.map((layer) => vm.qmp.execute('blockdev-add', layer, deadline)),
      vm.qmp.execute('blockdev-reopen', { options: [own] }, deadline),
      vm.qmp.execute('xen-load-devices-state', { filename: CONTINUED_PATH }, deadline),
    ])
    vm.disk = { active, layers: disk.map(({ id }) => id) }
    await rm(state)
  }
}
