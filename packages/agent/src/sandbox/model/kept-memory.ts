import { mkdir, stat } from 'node:fs/promises'
import { memoryFiles, type MemoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { LEAST_KEPT_BYTES } from '../../machine/capture/capture.ts'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'

/** The memory of a checkpoint: its folder, and the number of its bases. */
interface Mapped {
  readonly folder: string
  readonly bases: number
}

/**
 * Links the memory that a VM has kept ({@link Vm.memory}) into the folder of a new checkpoint, as its bases.
 * @returns their number; 0 if they cannot be linked: the capture writes all memory then
 */
export async function linkKept({ store, log }: Host, { id }: Sandbox, vm: Vm, folder: string): Promise<number> {
  if (vm.memory.length === 0) return 0
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await store.checkpoints.bases.link(vm.memory, folder)
  } catch (error) {
    log.warn({ err: error, sandbox_id: id }, 'kept memory of a sandbox cannot be used: writing all its memory')
    await store.checkpoints.bases.unlink(folder, vm.memory.length, 0)
    vm.memory = []
  }
  return vm.memory.length
}

/**
 * Links the files of a checkpoint that a VM has mapped, for the sandbox's next capture. The caller does not wait for it; the sandbox's
 * next change does.
 */
export function keepMapped(host: Host, sandbox: Sandbox, vm: Vm, { folder, bases }: Mapped): void {
  vm.memory = []
  const layers = memoryFiles(folder, bases)
  void sandbox.transitions.runNext(async () => {
    const { checkpoints, dir } = host.store
    const kept = dir.keptMemory(sandbox.id)
    try {
      if ((await bytesOf(layers)) < LEAST_KEPT_BYTES) return
      await checkpoints.remove(kept)
      await mkdir(kept, { mode: 0o700 })
      await checkpoints.bases.link(layers, kept)
      vm.memory = memoryFiles(kept, layers.length).slice(0, layers.length)
    } catch (error) {
      host.log.warn({ err: error, sandbox_id: sandbox.id }, 'memory of a sandbox not kept')
    }
  })
}

async function bytesOf(layers: readonly MemoryFiles[]): Promise<number> {
  const sizes = await Promise.all(layers.map(async ({ pages }) => (await stat(pages)).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}
