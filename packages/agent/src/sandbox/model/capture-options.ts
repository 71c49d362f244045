import { join } from 'node:path'
import type { Deadline } from '@offshoot/kit/deadline'
import { capture, type Capture, type Captured } from '../../machine/capture/capture.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { CheckpointOrigin } from '../../store/checkpoints/checkpoint.ts'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'
import { uidOfSlot } from '../../machine/slots/slots.ts'

/** The options for a capture of a sandbox. */
export function captureOptions(
  { store: { dir, layers }, platform: { captureThreads } }: Host,
  { manifest }: Sandbox,
  leave: Capture['leave'],
): Omit<Capture, 'folder'> {
  return {
    bake: join(dir.bakes, manifest.bake),
    memoryMib: manifest.memory_mb,
    uid: uidOfSlot(manifest.slot),
    layers,
    saving: leave === 'stopped' ? captureThreads.savingToEnd : captureThreads.saving,
    savingBeside: leave === 'stopped' ? null : captureThreads.savingBeside,
    leave,
  }
}

export interface CapturedSandbox extends Captured {
  /** Version of the QEMU that saved the device state. */
  readonly qemuVersion: string
}

export async function captureSandbox(
  host: Host,
  sandbox: Sandbox,
  vm: Vm,
  { leave, ...own }: Pick<Capture, 'folder' | 'leave' | 'bases' | 'keepsMemory'>,
  deadline: Deadline,
): Promise<CapturedSandbox> {
  const captured = await capture(vm, { ...captureOptions(host, sandbox, leave), ...own }, deadline)
  return { ...captured, qemuVersion: sandbox.manifest.qemu_version ?? host.platform.qemus.current.version }
}

/** The origin that a checkpoint records. */
export function checkpointOrigin({ manifest }: Sandbox): CheckpointOrigin {
  const { bake, template, cpu, memory_mb, guest_ip } = manifest
  return { bake, template, cpu, memory_mb, guest_ip, created_at: new Date().toISOString() }
}
