import { Deadline } from '@offshoot/kit/deadline'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Host } from '../model/host.ts'

/** Milliseconds for a killed QEMU to end. */
const KILL_MS = 10_000

/** A step that a guest needs before users may reach it. */
interface LastStep {
  readonly done: Promise<void>
  /** What the log says if it fails. */
  readonly failure: string
  /** Aborted when the sandbox is being deleted. Its delete ends the VM, and a step that fails then is no error. */
  readonly leaving?: AbortSignal
}

/** Lets users reach the guest when the step has succeeded. If it fails, the VM is ended: nobody has used it yet. */
export function openChannelAfter({ log }: Pick<Host, 'log'>, vm: Vm, step: LastStep): void {
  const { failure, leaving } = step
  const done = step.done.catch(async (error: unknown) => {
    if (!vm.hasEnded && !leaving?.aborted) {
      log.error({ err: error, folder: vm.folder }, failure)
      await vm.kill(Deadline.after(KILL_MS, 'end of a VM that could not be prepared'))
    }
    throw error
  })
  vm.shutUntil(done)
}
