import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import type { Vm } from '../../machine/vm/vm.ts'
import type { MachineDevice, VolumeRequest } from '../../store/volumes/machine-device.ts'
import { prepareVolume } from './prepare-volume.ts'
import type { Volumes } from '../../store/volumes/volumes.ts'
import type { Host, HostStore } from '../model/host.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { toolPlace } from './tool-place.ts'

/** Milliseconds for a guest to sync its volumes before its VM stops or ends. */
const SYNC_MS = 5000

/** Claims all volumes of a sandbox, or none. @throws ApiError 409 naming the holder of one, 404 one does not exist */
export function claimVolumes(
  { volumes }: HostStore,
  { id, devices }: Pick<Manifest, 'devices'> & Pick<Sandbox, 'id'>,
): void {
  volumes.holders.claim(volumeRequestsOf(volumes, devices), { sandboxId: id })
}

/** Restores the claims of a sandbox of an earlier agent process. */
export function keepVolumes({ volumes }: HostStore, { id, manifest }: Sandbox): void {
  for (const { volume, read_only: isReadOnly } of manifest.devices) {
    if (volume !== null) volumes.holders.keep(volume.id, { holder: { sandboxId: id }, isReadOnly })
  }
}

/** Only after the sandbox's QEMU has ended. */
export function releaseVolumes({ volumes }: HostStore, { id }: Pick<Sandbox, 'id'>): void {
  volumes.holders.release({ sandboxId: id })
}

/** Prepares the volumes that a sandbox has claimed, before its VM gets them. @throws ApiError 500 */
export async function prepareVolumes(host: Host, { manifest }: Sandbox): Promise<void> {
  const { volumes } = host.store
  for (const { volume } of volumeRequestsOf(volumes, manifest.devices)) {
    await prepareVolume(volumes, volume, toolPlace(host.platform, manifest.slot))
  }
}

/** Whether the guest writes to a volume. If so, only its newest checkpoint may be restored: an older one does not match it. */
export function writesVolumes({ devices }: Manifest): boolean {
  return devices.some(({ volume, read_only }) => volume !== null && !read_only)
}

/** Makes a guest sync its volumes, because unsynced data is lost with its VM. Gives up on a guest that does not answer. */
export async function syncVolumes(host: Host, { id, manifest }: Sandbox, vm: Vm): Promise<void> {
  if (!writesVolumes(manifest) || manifest.status !== 'running' || vm.hasEnded) return
  const deadline = Deadline.after(SYNC_MS, `sync of ${id}`)
  try {
    const link = await vm.link(deadline)
    await link.files.sync({ deadline })
  } catch (error) {
    host.log.warn({ err: error, sandbox_id: id }, 'volumes not synced')
  }
}

function volumeRequestsOf(volumes: Volumes, devices: readonly MachineDevice[]): VolumeRequest[] {
  return devices.flatMap(({ volume: held, read_only: isReadOnly }): VolumeRequest[] => {
    if (held === null) return []
    const volume = volumes.find(held.id, null)
    if (volume === null) throw new ApiError('notFound', { detail: `unknown volume: ${held.name}` })
    return [{ volume, isReadOnly }]
  })
}
