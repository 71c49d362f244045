import { constants } from 'node:fs'
import { open, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { checkpointFiles } from '../../store/checkpoints/checkpoint-files.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { requestLostInterrupts } from '../vm/lost-interrupts.ts'
import type { Vm } from '../vm/vm.ts'

/** Maximum bytes of a device state; ours have 20 KiB. */
const MAX_STATE_BYTES = 16 * 1024 * 1024

/**
 * Writes the state of a stopped VM's devices to the folder of a checkpoint. QEMU can write only in its own folder, so the agent copies
 * the file from there.
 * @param id names the file in QEMU's folder
 */
export async function saveState(vm: Vm, folder: string, id: LayerId, deadline: Deadline): Promise<void> {
  const name = `state-${id}`
  const path = join(vm.folder, name)
  try {
    await vm.qmp.execute('xen-save-devices-state', { filename: name, live: false }, deadline)
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stats = await file.stat()
      if (!stats.isFile() || stats.size > MAX_STATE_BYTES) throw new Error("QEMU's device state is no file of its size")
      const state = requestLostInterrupts(await file.readFile())
      await writeFile(checkpointFiles(folder).state, state, { flag: 'wx', mode: 0o400 })
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}
