import type { Deadline } from '@offshoot/kit/deadline'
import { restore, type Restore } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { volumeDevices } from '../../machine/vm/volume-devices.ts'
import type { MachineDevice } from '../../store/volumes/machine-device.ts'
import type { Host } from '../model/host.ts'
import { applyLimits } from './apply-limits.ts'
import { prepareVm, type VmPlace } from './prepare-vm.ts'

export interface BootFrom extends Pick<Restore, 'checkpoint' | 'greet'>, Partial<Pick<Restore, 'boot' | 'onLaunch'>> {
  /** The guest's block devices for volumes at the time of its checkpoint. */
  readonly known: readonly MachineDevice[]
}

/**
 * Restores a VM in its own folder, with its limits and its own user. If this fails, no process is left. The caller must
 * remove the folder and the control group.
 */
export async function bootVm(
  host: Host,
  place: VmPlace,
  { known, boot = null, ...from }: BootFrom,
  deadline: Deadline,
): Promise<Vm> {
  const volumes = volumeDevices(place.devices, known, (id) => host.store.volumes.path(id))
  const vm = await restore({ ...(await prepareVm(host, place)), volumes, boot, ...from }, deadline)
  applyLimits(host, place, vm)
  return vm
}
