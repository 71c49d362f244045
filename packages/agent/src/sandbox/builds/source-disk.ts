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
  /** Those that are the sandbox's own, the lowest first. */
  readonly layers: readonly LayerId[]
  readonly bytes: number
}

/**
 * Gives all that the disk of a sandbox consists of at this instant second names in a folder of its own: nothing is copied,
 * nobody counts, and whatever becomes of the sandbox, its template and its layers is no matter any more. What the guest's
 * programs have written is in it; a hibernated sandbox is woken for that.
 * @returns its layers, and bytes of them
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
