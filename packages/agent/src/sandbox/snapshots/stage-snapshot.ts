import { Deadline } from '@offshoot/kit/deadline'
import type { Vm } from '../../machine/vm/vm.ts'
import { type CapturedSandbox, captureSandbox } from '../model/capture-options.ts'
import type { Host } from '../model/host.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { requireVm } from '../model/stopping.ts'
import { keepMapped, linkKept } from '../model/kept-memory.ts'

/** Milliseconds to write a checkpoint: gigabytes to a slow disk. */
const CAPTURE_MS = 300_000

export interface Stage {
  /**
   * Called during the sandbox's change of state, before its VM is captured: starts work that runs during the capture. `bases` is the
   * number of bases in the checkpoint's folder. The capture may need fewer, and has the pages of the others itself then.
   */
  readonly onBegin?: (vm: Vm, bases: number) => void
  /** Called during the same change of state, so before the next one. */
  readonly onStaged: (captured: CapturedSandbox) => void
}

/**
 * Captures memory, devices and disk of a sandbox at one instant into a new folder. The sandbox stays running, paused or
 * hibernated.
 * @throws ApiError 404, 507 no room on the disk
 */
export async function stageSnapshot(
  host: Host,
  sandbox: Sandbox,
  folder: string,
  { onBegin, onStaged }: Stage,
): Promise<CapturedSandbox> {
  // It has lost its memory: a cold start gives it one to capture.
  if (sandbox.manifest.cold) await sandbox.wake()
  return sandbox.change(async (cancelled) => {
    const deadline = Deadline.after(CAPTURE_MS, `checkpoint of ${sandbox.id}`, cancelled)
    const isHibernated = sandbox.manifest.status === 'hibernated'
    const stage = async () => {
      if (isHibernated) return linkHibernation(host, sandbox, folder, deadline)
      return captureLive(host, sandbox, folder, onBegin, deadline)
    }
    try {
      const captured = await host.gates.captures.run(stage, cancelled)
      onStaged(captured)
      return captured
    } catch (error) {
      throw await refusal(host, sandbox, 'sandbox could not be captured', error)
    }
  })
}

async function captureLive(
  host: Host,
  sandbox: Sandbox,
  folder: string,
  onBegin: Stage['onBegin'],
  deadline: Deadline,
): Promise<CapturedSandbox> {
  const vm = requireVm(sandbox, 'running', 'paused')
  const linked = await linkKept(host, sandbox, vm, folder)
  onBegin?.(vm, linked)
  const memory = { bases: Promise.resolve(vm.memory), keepsMemory: true }
  const captured = await captureSandbox(host, sandbox, vm, { folder, leave: 'as-before', ...memory }, deadline)
  await host.store.checkpoints.bases.unlink(folder, linked, captured.bases)
  if (captured.isKept) keepMapped(host, sandbox, vm, captured)
  return captured
}

async function linkHibernation(
  host: Host,
  sandbox: Sandbox,
  folder: string,
  deadline: Deadline,
): Promise<CapturedSandbox> {
  const source = host.store.dir.hibernation(sandbox.id)
  const checkpoint = await host.store.checkpoints.open(source, host.platform.machines.of, deadline)
  const { memory, qemuVersion } = checkpoint
  await host.store.checkpoints.link(source, checkpoint, folder)
  const layers = checkpoint.layers.map(({ id }) => id)
  const memoryBytes = memory.reduce((sum, { pages }) => sum + pages.bytes, 0)
  return { folder, layers, qemuVersion, memoryBytes, bases: memory.length - 1, isKept: false, pausedMs: 0 }
}
