import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { restore, type Restore } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { volumeDevices } from '../../machine/vm/volume-devices.ts'
import { checkpointFiles, memoryFiles } from '../../store/checkpoints/checkpoint-files.ts'
import { VM_FOLDER } from '../../store/data-dir/data-dir.ts'
import { removeTree } from '../../store/data-dir/folders.ts'
import type { MachineDevice } from '../../store/volumes/machine-device.ts'
import type { Host } from '../model/host.ts'
import { applyLimits } from './apply-limits.ts'
import { copyToContinue, zygoteToContinue } from './copy-to-continue.ts'
import { prepareVm, type VmPlace } from './prepare-vm.ts'

export interface BootFrom extends Pick<Restore, 'checkpoint' | 'greet'>, Partial<Pick<Restore, 'boot' | 'onLaunch'>> {
  /** The guest's block devices for volumes at the time of its checkpoint. */
  readonly known: readonly MachineDevice[]
}

/**
 * Starts a VM in its own folder, with its limits and its own user. If this fails, no process is left. The caller must remove the
 * folder and the control group.
 */
export async function bootVm(host: Host, place: VmPlace, from: BootFrom, deadline: Deadline): Promise<Vm> {
  const vm = (await continueVm(host, place, from, deadline)) ?? (await restoreVm(host, place, from, deadline))
  applyLimits(host, place, vm)
  return vm
}

async function restoreVm(
  host: Host,
  place: VmPlace,
  { known, boot = null, ...from }: BootFrom,
  deadline: Deadline,
): Promise<Vm> {
  const volumes = volumeDevices(place.devices, known, (id) => host.store.volumes.path(id))
  return restore({ ...(await prepareVm(host, place)), volumes, boot, ...from }, deadline)
}

/**
 * Continues a checkpoint in a copy of its template's zygote, which has the guest's code translated.
 * @returns `null` if there is no such copy, or it failed; nothing of it is left then
 */
async function continueVm(
  host: Host,
  place: VmPlace,
  { checkpoint, greet }: BootFrom,
  deadline: Deadline,
): Promise<Vm | null> {
  if (checkpoint?.folder == null || greet === null) return null
  host.pool.noteRestore(place.bake)
  const source = zygoteToContinue(host, place, checkpoint.layers.length)
  if (source === null) return null
  const memory = memoryFiles(checkpoint.folder, checkpoint.bases)
  const disk = checkpoint.layers.map((id) => ({ id, file: host.store.layers.path(id) }))
  try {
    const copy = await copyToContinue(host, source, place, { memory, disk }, deadline)
    await copy.load(checkpointFiles(checkpoint.folder).state, greet, deadline).catch((error: unknown) => {
      if (!deadline.signal.aborted) source.zygote.canContinue = false
      throw error
    })
    return copy.vm
  } catch (error) {
    deadline.throwIfOver()
    host.log.warn({ err: error, folder: place.folder }, 'no copy of a zygote continues the VM: restoring it')
    await removeTree(join(place.folder, VM_FOLDER))
    return null
  }
}
