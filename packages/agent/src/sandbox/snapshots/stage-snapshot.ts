import { Deadline } from '@offshoot/kit/deadline'
import type { Vm } from '../../machine/vm/vm.ts'
import { type CapturedSandbox, captureSandbox } from '../model/capture-options.ts'
import type { Host } from '../model/host.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { vmIn } from '../model/stopping.ts'

/** Milliseconds to write a checkpoint: gigabytes to a slow disk. */
const CAPTURE_MS = 300_000

export interface Stage {
  /** Called in the sandbox's turn, before a VM that it has is captured: what is to go on beside that. */
  readonly onBegin?: (vm: Vm) => void
  /** Called in the same turn, before anything else happens to the sandbox. */
  readonly onStaged: (captured: CapturedSandbox) => void
}

/**
 * Puts memory, devices and disk of one instant of a sandbox into a folder, which it makes. The sandbox stays what it is:
 * running, paused or hibernated.
 * @throws ApiError 404, 507 no room on the disk
 */
export async function stageSnapshot(
  host: Host,
  sandbox: Sandbox,
  folder: string,
  { onBegin, onStaged }: Stage,
): Promise<CapturedSandbox> {
  // What it had in memory is gone: it is to have some again first.
  if (sandbox.manifest.cold) await sandbox.wake()
  return sandbox.change(async (cancelled) => {
    const deadline = Deadline.after(CAPTURE_MS, `checkpoint of ${sandbox.id}`, cancelled)
    const isHibernated = sandbox.manifest.status === 'hibernated'
    const stage = async () => {
      if (isHibernated) return linkHibernation(host, sandbox, folder, deadline)
      const vm = vmIn(sandbox, 'running', 'paused')
      onBegin?.(vm)
      return captureSandbox(host, sandbox, vm, { folder, leave: 'as-before' }, deadline)
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

async function linkHibernation(
  host: Host,
  sandbox: Sandbox,
  folder: string,
  deadline: Deadline,
): Promise<CapturedSandbox> {
  const source = host.dir.hibernation(sandbox.id)
  const checkpoint = await host.checkpoints.open(source, host.machines.of, deadline)
  const { memory, qemuVersion } = checkpoint
  await host.checkpoints.link(source, checkpoint, folder)
  const layers = checkpoint.layers.map(({ id }) => id)
  const memoryBytes = memory.reduce((sum, { pages }) => sum + pages.bytes, 0)
  return { folder, layers, qemuVersion, memoryBytes, bases: memory.length - 1, pausedMs: 0 }
}
