import { Deadline } from '@offshoot/kit/deadline'
import { captureDisk } from '../../machine/capture/capture.ts'
import type { LayerId } from '../../store/disks/layer-id.ts'
import { linkSourceDisk } from '../../store/builds/source-disk.ts'
import { allocatedBytes } from '../../store/data-dir/disk-usage.ts'
import { isPresent } from '../../store/ledger/is-present.ts'
import { captureOptions } from '../model/capture-options.ts'
import { guestDeadline, withGuest } from '../model/guest-access.ts'
import type { Host } from '../model/host.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { requireVm } from '../model/stopping.ts'
import { bakeFiles } from '../../store/bakes/bake-files.ts'

/** Milliseconds to freeze a disk. */
const CAPTURE_MS = 120_000

export interface TakenDisk {
  /** The layers that the sandbox wrote, the lowest first. */
  readonly layers: readonly LayerId[]
  readonly bytes: number
}

/**
 * Hard-links all files of a sandbox's disk at this instant into a new folder. Nothing is copied, and the template does not
 * depend on the sandbox, its template or its layers afterwards. The guest's page cache is synced before; a hibernated
 * sandbox is woken for that.
 * @returns its own layers and their bytes
 * @throws ApiError 404, 409 paused, 507
 */
export async function takeDisk(host: Host, sandbox: Sandbox, folder: string): Promise<TakenDisk> {
  await withGuest(sandbox, (link) => link.files.sync({ deadline: guestDeadline(`sync of ${sandbox.id}`) }))
  return sandbox.change(async (cancelled) => {
    const deadline = Deadline.after(CAPTURE_MS, `disk of ${sandbox.id}`, cancelled)
    const options = captureOptions(host, sandbox, 'as-before')
    try {
      const layers = await captureDisk(requireVm(sandbox, 'running'), options, deadline)
      const bake = bakeFiles(options.bake)
      const below = [...((await isPresent(bake.lower)) ? [bake.lower] : []), bake.disk]
      const own = layers.map((id) => host.store.layers.path(id))
      await linkSourceDisk(folder, bake.rootfs, [...below, ...own])
      return { layers, bytes: await allocatedBytes(own) }
    } catch (error) {
      throw await refusal(host, sandbox, 'the disk of the sandbox could not be taken', error)
    }
  })
}
