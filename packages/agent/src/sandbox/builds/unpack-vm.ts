import { confinementOf } from '../model/confinement-of.ts'
import { makeVmFolder, removeTree } from '../../store/data-dir/folders.ts'
import { join } from 'node:path'
import type { BuildId, SandboxId } from '@offshoot/contract/ids'
import type { GuestLink } from '@offshoot/guest-link/link'
import { Deadline } from '@offshoot/kit/deadline'
import { VM_FOLDER } from '../../store/data-dir/data-dir.ts'
import { QEMU_LOG } from '../start/prepare-vm.ts'
import { cgroupLimits } from '../start/apply-limits.ts'
import type { Host } from '../model/host.ts'
import { networkIdentity, tapOf } from '../start/slot-network.ts'
import { uidOfSlot } from '../../machine/slots/slots.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import { channelFolder } from '../../machine/vm/channel.ts'
import { guestIdentity } from '../../machine/guest/guest-identity.ts'
import { restore } from '../../machine/restore/restore.ts'
import type { Vm } from '../../machine/vm/vm.ts'

/** Milliseconds to restore the VM, and to end it. */
const RESTORE_MS = 30_000
const KILL_MS = 10_000
/** The new disk and the archive take the machine's places for volumes. */
const DISK_PLACE = 0
const ARCHIVE_PLACE = 1
export const DISK_DEVICE = '/dev/vdb'
export const ARCHIVE_DEVICE = '/dev/vdc'

export interface UnpackVm {
  readonly id: BuildId
  /** The build's folder. The VM gets a folder in it. */
  readonly folder: string
  /** The template from which the VM is restored. The agent's own guest program does the unpacking. */
  readonly worker: BakedTemplate
  /** Paths of files that the agent created, of whole sectors. */
  readonly disk: string
  readonly archive: string
}

/**
 * Restores a VM that has only an archive and an empty disk, lets `work` use its guest, and ends it. The VM has no network, and runs
 * under the user and the limits of a sandbox's VM: a malicious archive can only attack this VM.
 * @throws ApiError 507, and whatever `work` does
 */
export async function withUnpackVm<T>(
  host: Host,
  options: UnpackVm,
  deadline: Deadline,
  work: (link: GuestLink) => Promise<T>,
): Promise<T> {
  const { image } = options.worker
  const release = await host.gates.admission.admit(image.memory_mb)
  const slot = host.platform.slots.take()
  if (slot === null) {
    release()
    throw new Error('this agent has no free slot')
  }
  const folder = join(options.folder, VM_FOLDER)
  let vm: Vm | undefined
  try {
    await removeTree(folder)
    vm = await start(host, options, { slot, folder }, deadline)
    return await work(await vm.link(deadline))
  } finally {
    await vm?.kill(Deadline.after(KILL_MS, 'end of a machine that unpacked'))
    await removeTree(folder)
    await removeTree(channelFolder(folder))
    await host.platform.cgroups?.remove(slot)
    host.platform.slots.release(slot)
    release()
  }
}

async function start(
  host: Host,
  { id, folder: buildFolder, worker, disk, archive }: UnpackVm,
  { slot, folder }: { readonly slot: number; readonly folder: string },
  deadline: Deadline,
): Promise<Vm> {
  await makeVmFolder(folder, uidOfSlot(slot))
  await host.platform.cgroups?.create(slot, cgroupLimits({ ...worker.image, limits: null }))
  await host.platform.network?.open(slot, 'none')
  const vm = await restore(
    {
      qemu: host.platform.qemus.current.path,
      preload: host.store.dir.preload,
      machine: worker.machine,
      bake: worker.folder,
      boot: null,
      isDurable: false,
      checkpoint: null,
      layers: host.store.layers,
      volumes: [
        { place: DISK_PLACE, isReadOnly: false, path: disk, isNew: true },
        { place: ARCHIVE_PLACE, isReadOnly: true, path: archive, isNew: true },
      ],
      folder,
      logPath: join(buildFolder, QEMU_LOG),
      confinement: confinementOf(host.platform, slot),
      tap: tapOf(host.platform, slot),
      greet: async (restored, greeting) => {
        const link = await restored.link(greeting)
        const identity = guestIdentity(id as string as SandboxId, {}, networkIdentity(host.platform, slot))
        await link.refresh({ ...identity, volumes: (1 << DISK_PLACE) | (1 << ARCHIVE_PLACE) }, greeting).settled
      },
    },
    deadline.within(RESTORE_MS, 'restore of a machine that unpacks'),
  )
  if (!vm.isJailed) await host.platform.cgroups?.attach(slot, vm.process.pid)
  return vm
}
