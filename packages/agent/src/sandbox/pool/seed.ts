import { ApiError } from '@offshoot/contract/errors'
import type { BootMode } from '@offshoot/contract/sandbox'
import type { SnapshotRecord } from '../../store/snapshots/snapshot-record.ts'
import type { BakedTemplate } from '../../machine/bakes/bakes.ts'
import type { Restore } from '../../machine/restore/restore.ts'
import { runAsOf } from '../../store/templates/template-record.ts'
import { emptied, inherited, type MachineDevice } from '../../store/volumes/machine-device.ts'
import type { GuestIdentity } from '../../machine/guest/guest-identity.ts'
import type { Manifest } from '../../store/sandboxes/manifest.ts'

/** What a new sandbox begins as. */
export interface Seed {
  readonly manifest: Pick<
    Manifest,
    'template' | 'bake' | 'cpu' | 'memory_mb' | 'layers' | 'from_snapshot' | 'run_as' | 'durable' | 'qemu_version'
  >
  /** Block devices for volumes that its guest has had, as the new sandbox has them. */
  readonly devices: readonly MachineDevice[]
  readonly guestIp: string | null
  readonly bootMode: BootMode
  readonly checkpoint: Restore['checkpoint']
  /** Variables of its template, below those of the sandbox; `keep`: those that the guest has, where the sandbox names none. */
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
    checkpoint: null,
    env: image.env ?? {},
  }
}

/** The disk of a snapshot alone. @throws ApiError 400 where there is no disk to be booted */
export function withoutMemory(seed: Seed): Seed {
  if (seed.checkpoint === null || !seed.manifest.durable)
    throw new ApiError('invalidField', { error: 'without_memory needs a snapshot of a durable sandbox' })
  const manifest = { ...seed.manifest, qemu_version: undefined }
  return { ...seed, manifest, devices: [], checkpoint: { ...seed.checkpoint, folder: null } }
}

/** @param checkpoint of the snapshot, whole or just captured */
export function seedOfSnapshot(
  record: SnapshotRecord,
  { folder, qemuVersion }: { readonly folder: string; readonly qemuVersion: string },
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
      qemu_version: qemuVersion,
    },
    guestIp: guest_ip,
    devices: (bootMode === 'fork' ? inherited : emptied)(devices),
    bootMode,
    checkpoint: { folder, layers },
    env: 'keep',
  }
}
