import type { Deadline } from '@offshoot/kit/deadline'
import { continueReleased, stopVm } from '../../machine/guest/hold.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/**
 * Makes an adopted VM do what its manifest says. The agent before us may have been killed while it stood still for a
 * checkpoint, or between a change and the manifest: nobody was answered for that.
 */
export async function settleVm(host: Host, sandbox: Sandbox, vm: Vm, deadline: Deadline): Promise<void> {
  if (vm.disk !== null) await host.layers.adopt(vm.folder, vm.disk)
  const { running } = await vm.qmp.execute('query-status', {}, deadline)
  if (sandbox.manifest.status === 'paused') {
    if (running) await stopVm(vm, deadline)
    return
  }
  if (!running) await vm.qmp.execute('cont', {}, deadline)
  // Held or not, nobody can tell but the guest; a busy one need not be waited for.
  continueReleased(vm, deadline).catch((error: unknown) =>
    host.log.warn({ err: error, sandbox_id: sandbox.id }, 'guest not released'),
  )
}
