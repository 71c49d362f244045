import { ApiError } from '@offshoot/contract/errors'
import type { BootMode } from '@offshoot/contract/sandbox'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { Restore } from '../../machine/restore/restore.ts'
import { runAsOf } from '../../store/templates/template-record.ts'
import { withoutVolumes, inherited, type MachineDevice } from '../../store/volumes/machine-device.ts'
import type { GuestIdentity } from '../../machine/guest/guest-identity.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'

/** The initial state of a new sandbox: from a template, a snapshot or a fork. */
export interface Seed {
  readonly manifest: Pick<
    Manifest,
    'template' | 'bake' | 'cpu' | 'memory_mb' | 'layers' | 'from_snapshot' | 'run_as' | 'durable' | 'qemu_version'
  >
  /** The block devices of the restored machine that held volumes. */
  readonly devices: readonly MachineDevice[]
  readonly guestIp: string | null
  readonly bootMode: BootMode
  /** Its image came with the product, so no stranger's code runs in a guest that no sandbox has yet. */
  readonly isTrusted: boolean
  readonly checkpoint: Restore['checkpoint']
  /** Variables of the template, which those of the sandbox override; `keep`: the guest's own, if the sandbox sets none. */
  readonly env: GuestIdentity['env']
}

export function seedOfTemplate({ image, manifest }: BakedTemplate): Seed {
  const bake = `${image.name}/${manifest.fingerprint}`
  const { cpu, memory_mb } = image
  return {
    manifest: {
      template: image.title ?? image.name,
      bake,
      cpu,
      memory_mb,
      layers: [],
      from_snapshot: null,
      run_as: runAsOf(image),
      durable: image.durable ?? false,
    },
    guestIp: manifest.guest_ip,
    devices: [],
    bootMode: 'snapshot',
    isTrusted: image.title === undefined,
    checkpoint: null,
    env: image.env ?? {},
  }
}

/** The seed without its memory, for a cold start from the snapshot's disk. @throws ApiError 400 if the disk cannot be booted */
export function withoutMemory(seed: Seed): Seed {
  if (seed.checkpoint === null || !seed.manifest.durable)
    throw new ApiError('invalidField', { error: 'without_memory needs a snapshot of a durable sandbox' })
  const manifest = { ...seed.manifest, qemu_version: undefined }
  return { ...seed, manifest, devices: [], checkpoint: { ...seed.checkpoint, folder: null } }
}

/** @param memory of the snapshot's checkpoint, sealed or just captured; its `folder` is `null` if there is only the disk */
export function seedOfSnapshot(
  record: SnapshotRecord,
  memory: { readonly folder: string | null; readonly bases: number; readonly qemuVersion: string | undefined },
  bootMode: 'snapshot' | 'fork',
): Seed {
  const { id, template, bake, cpu, memory_mb, layers, guest_ip, devices, run_as, durable } = record
  return {
    manifest: {
      template,
      bake,
      cpu,
      memory_mb,
      layers,
      from_snapshot: id,
      run_as,
      durable,
      qemu_version: memory.qemuVersion,
    },
    guestIp: guest_ip,
    devices: (bootMode === 'fork' ? inherited : withoutVolumes)(devices),
    bootMode,
    isTrusted: false,
    checkpoint: { folder: memory.folder, bases: memory.bases, layers },
    env: 'keep',
  }
}
