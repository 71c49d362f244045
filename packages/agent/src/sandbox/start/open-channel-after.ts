import { Deadline } from '@offshoot/kit/deadline'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Host } from '../model/host.ts'

/** Milliseconds for a killed QEMU to end. */
const KILL_MS = 10_000

/** Lets users reach the guest when `step` has succeeded. If it fails, the VM is ended: nobody has used it yet. */
export function openChannelAfter({ log }: Pick<Host, 'log'>, vm: Vm, step: Promise<void>, failure: string): void {
  const done = step.catch(async (error: unknown) => {
    if (!vm.hasEnded) {
      log.error({ err: error, folder: vm.folder }, failure)
      await vm.kill(Deadline.after(KILL_MS, 'end of a VM that could not be prepared'))
    }
    throw error
  })
  vm.shutUntil(done)
}
