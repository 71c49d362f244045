import { join } from 'node:path'
import { traceStep } from '@offshoot/kit/otlp/telemetry'
import type { Restore } from '../../machine/restore/restore.ts'
import { uidOfSlot } from '../../machine/slots/slots.ts'
import { VM_FOLDER } from '../../store/data-dir/data-dir.ts'
import { makeVmFolder } from '../../store/data-dir/folders.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'
import { confinementOf } from '../model/confinement-of.ts'
import type { Host } from '../model/host.ts'
import { cgroupLimits } from './apply-limits.ts'
import { tapOf } from './slot-network.ts'

/** QEMU's messages, in the sandbox's folder. */
export const QEMU_LOG = 'qemu.log'

/** The size, limits and place of a new VM. */
export interface VmPlace extends Pick<
  Manifest,
  'slot' | 'bake' | 'cpu' | 'memory_mb' | 'egress' | 'limits' | 'devices' | 'durable' | 'qemu_version'
> {
  /** Contains QEMU's log, and its working directory, which must not exist yet. */
  readonly folder: string
  /** The VM has a low CPU priority until this aborts. */
  readonly lowPriorityUntil?: AbortSignal
}

/**
 * Creates the VM's folder, control group and network.
 * @returns the options for QEMU
 * @throws CheckpointIncompatible if this host no longer has the QEMU that saved the checkpoint; ApiError 503 if the VM is
 *   durable and the host has no lease
 */
export async function prepareVm(
  host: Host,
  place: VmPlace,
): Promise<Omit<Restore, 'checkpoint' | 'greet' | 'volumes' | 'boot'>> {
  const { path: qemu, jail } = host.platform.qemus.of(place.qemu_version)
  if (place.durable) host.store.lease.refuseIfEnded()
  const folder = join(place.folder, VM_FOLDER)
  await makeVmFolder(folder, uidOfSlot(place.slot))
  await traceStep('network and control groups', () =>
    Promise.all([
      host.platform.cgroups?.create(place.slot, cgroupLimits(place), place.lowPriorityUntil),
      host.platform.network?.open(place.slot, place.egress),
    ]),
  )
  return {
    qemu,
    preload: host.store.dir.preload,
    machine: host.platform.machines.of(place),
    bake: join(host.store.dir.bakes, place.bake),
    layers: host.store.layers,
    folder,
    logPath: join(place.folder, QEMU_LOG),
    confinement: {
      ...confinementOf(host.platform, place.slot),
      jail,
      lease: place.durable ? host.store.lease.file : null,
    },
    tap: tapOf(host.platform, place.slot),
    isDurable: place.durable,
  }
}
