import { join } from 'node:path'
import type { Capture } from '../checkpoints/capture.ts'
import type { CheckpointOrigin } from '../checkpoints/checkpoint.ts'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'
import { uidOfSlot } from './slots.ts'

/** What a capture must know of a sandbox. */
export function captureOptions(
  { dir, layers, checkpoints }: Host,
  { manifest }: Sandbox,
  leave: Capture['leave'],
): Omit<Capture, 'folder'> {
  return {
    bake: join(dir.bakes, manifest.bake),
    memoryMib: manifest.memory_mb,
    uid: uidOfSlot(manifest.slot),
    layers,
    saving: leave === 'stopped' ? checkpoints.savingToEnd : checkpoints.saving,
    savingBeside: checkpoints.savingBeside,
    leave,
  }
}

/** What a checkpoint says of where it is from. */
export function checkpointOrigin({ manifest }: Sandbox): CheckpointOrigin {
  const { bake, template, cpu, memory_mb, guest_ip } = manifest
  return { bake, template, cpu, memory_mb, guest_ip, created_at: new Date().toISOString() }
}
