import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Deadline } from '@offshoot/kit/deadline'
import { QmpClient } from '@offshoot/qmp/client'
import { copyMemory, layOwnPages } from './baseline-memory.ts'
import { BaselineVm, type Overlay, type Recipe } from './baseline-vm.ts'

const FORK_MS = 60_000
let lastNumber = 0

/**
 * The floor of a fork: the minimal steps for a running VM, in sequence, without the service. It copies the memory that
 * the VM was restored from. Then it stops the VM, saves its own pages, its devices and its disk, and starts a QEMU over
 * them. It leaves out the hold, the records and the child's identity.
 */
export class BaselineFork {
  readonly #recipe: Recipe
  readonly #parent: BaselineVm
  readonly #qmp: QmpClient
  #node: string

  private constructor(recipe: Recipe, parent: BaselineVm, qmp: QmpClient) {
    this.#recipe = recipe
    this.#parent = parent
    this.#qmp = qmp
    this.#node = parent.node
  }

  static async of(recipe: Recipe, parent: BaselineVm): Promise<BaselineFork> {
    const deadline = Deadline.after(FORK_MS, 'monitor of a baseline VM')
    return new BaselineFork(recipe, parent, await QmpClient.connect(join(parent.folder, 'qmp.sock'), deadline))
  }

  /** One fork. Only the first of a parent is valid, because the recipe's disk chain has a fixed length. */
  async fork(): Promise<{ readonly child: BaselineVm; readonly pausedMs: number }> {
    const { folder, pid } = this.#parent
    const { bake, memoryBytes } = this.#recipe
    const deadline = Deadline.after(FORK_MS, 'baseline fork')
    const name = `fork${++lastNumber}`
    const path = (what: string) => join(folder, `${name}.${what}`)
    const overlay: Overlay = {
      state: path('state'),
      memory: path('memory'),
      layer: join(folder, /[0-9a-f]{24}/.exec(this.#node)?.[0] ?? '') + '.qcow2',
    }
    await copyMemory(join(bake, 'memory'), overlay.memory)
    await copyFile(join(bake, 'overlay.qcow2'), path('qcow2'))
    const file = { driver: 'file', filename: path('qcow2') } as const
    const cache = { 'no-flush': true }
    const node = { driver: 'qcow2', 'node-name': name, file, cache, backing: null } as const
    await this.#qmp.execute('blockdev-add', node, deadline)
    const stoppedAt = performance.now()
    await this.#qmp.execute('stop', {}, deadline)
    await this.#qmp.execute('xen-save-devices-state', { filename: overlay.state, live: false }, deadline)
    layOwnPages(pid, join(bake, 'memory'), memoryBytes, overlay.memory)
    await this.#qmp.execute('blockdev-snapshot', { node: this.#node, overlay: name }, deadline)
    await this.#qmp.execute('cont', {}, deadline)
    const pausedMs = performance.now() - stoppedAt
    this.#node = name
    return { child: await BaselineVm.restore(this.#recipe, overlay), pausedMs }
  }

  close(): void {
    this.#qmp.close()
  }
}
