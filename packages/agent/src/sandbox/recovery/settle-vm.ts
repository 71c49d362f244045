import type { Deadline } from '@offshoot/kit/deadline'
import { releaseGuest, releaseIfHeld, stopVm } from '../../machine/guest/hold.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'

/**
 * Brings an adopted VM into the state of its manifest. The earlier agent may have been killed while the VM was stopped for a
 * checkpoint, or between a change of state and its manifest. No caller got an answer for that change.
 */
export async function settleVm(host: Host, sandbox: Sandbox, vm: Vm, deadline: Deadline): Promise<void> {
  if (vm.disk !== null) await host.store.layers.adopt(vm.folder, vm.disk)
  const { running } = await vm.qmp.execute('query-status', {}, deadline)
  if (sandbox.manifest.status === 'paused') {
    if (running) await stopVm(vm, deadline)
    return
  }
  if (!running) await vm.qmp.execute('cont', {}, deadline)
  // Only the guest knows whether it holds its processes. A busy guest may answer late, so do not wait.
  const release = running ? releaseIfHeld : releaseGuest
  release(vm, deadline).catch((error: unknown) =>
    host.log.warn({ err: error, sandbox_id: sandbox.id }, 'guest not released'),
  )
}
