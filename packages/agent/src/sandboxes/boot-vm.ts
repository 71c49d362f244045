import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { TRANSLATION_CACHE_MIB } from '../vm/machine.ts'
import { restore, type Restore } from '../vm/restore.ts'
import type { Vm } from '../vm/vm.ts'
import type { Host } from './host.ts'
import { limitVm } from './limit-vm.ts'
import type { Sandbox } from './sandbox.ts'
import { uidOfSlot } from './slots.ts'

/** MiB that QEMU may hold beside its guest's memory and its translated code. */
const QEMU_MIB = 192
/** QEMU's own threads: main, vCPUs, worker threads of block devices (at most 64). */
const MAX_PROCESSES = 128
/** QEMU's messages, in the sandbox's folder. */
export const QEMU_LOG = 'qemu.log'

/**
 * Restores the VM of a sandbox that has none, in a folder of its own, under its limits and its own user. Whatever fails, no
 * process is left; folder and limits are for the caller to remove.
 */
export async function bootVm(
  host: Host,
  sandbox: Sandbox,
  from: Pick<Restore, 'checkpoint' | 'greet'>,
  deadline: Deadline,
): Promise<Vm> {
  const { id, manifest } = sandbox
  const folder = host.dir.vm(id)
  const uid = uidOfSlot(manifest.slot)
  await mkdir(folder, { mode: 0o700 })
  if (uid !== null) await chown(folder, uid, uid)
  const memoryMib = manifest.memory_mb + TRANSLATION_CACHE_MIB + QEMU_MIB
  await host.cgroups?.create(manifest.slot, { memoryMib, processes: MAX_PROCESSES })
  const vm = await restore(
    {
      qemu: host.qemu.path,
      preload: host.dir.preload,
      machine: host.machines.of(manifest),
      bake: join(host.dir.bakes, manifest.bake),
      layers: host.layers,
      folder,
      logPath: join(host.dir.sandbox(id), QEMU_LOG),
      confinement: { uid },
      ...from,
    },
    deadline,
  )
  limitVm(host, sandbox, vm)
  return vm
}
