import { join } from 'node:path'
import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import { syncFolder } from '@offshoot/kit/sync-folder'
import { TAKEN, TAKEN_OVER } from '../../store/ledger/ledger.ts'
import { MANIFEST } from '../../store/sandboxes/manifest.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { KILL_MS } from './delete.ts'
import { keepDisk } from './keep-disk.ts'
import { setAside } from './remove-traces.ts'

/**
 * Gives up a durable sandbox that another host has brought back after the lease of this one had ended. Its VM is stopped,
 * and ends without running again. Its disk and its archive may have what has not arrived elsewhere, so they stay in
 * quarantine, without a record that would let it be used here. Concurrent callers share one removal; a failed one can be
 * retried.
 * @throws ApiError 409: the host may run it
 */
export async function giveUpSandbox(host: Host, sandbox: Sandbox): Promise<void> {
  if (!sandbox.manifest.durable || host.store.lease.isHeld) {
    throw new ApiError('conflict', { detail: 'the lease of the host has not ended' })
  }
  // A change that waits for the stopped guest fails when the VM ends.
  if (sandbox.transitions.isBusy)
    void sandbox.vm?.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`)).catch(() => undefined)
  await sandbox.remove(() => giveUp(host, sandbox))
}

async function giveUp(host: Host, sandbox: Sandbox): Promise<void> {
  if (host.sandboxes.get(sandbox.id) !== sandbox) return
  await endVm(host, sandbox)
  sandbox.manifest = { ...sandbox.manifest, status: 'deleting' }
  const folder = host.store.dir.sandbox(sandbox.id)
  // From here on, a start puts the folder into quarantine.
  await host.store.ledger.strike(join(folder, MANIFEST), TAKEN)
  await syncFolder(folder)
  await setAside(host, sandbox, TAKEN_OVER)
}

async function endVm(host: Host, sandbox: Sandbox): Promise<void> {
  const { vm } = sandbox
  if (vm !== null) {
    await vm.kill(Deadline.after(KILL_MS, `end of ${sandbox.id}`))
    const end = await vm.ended
    // Without waiting in between, as after any end of a VM: a sweep would remove the layers.
    sandbox.lost = { end, layers: vm.disk === null ? [] : [...vm.disk.layers, vm.disk.active] }
    sandbox.vm = null
  }
  if (sandbox.lost === null) return
  if ((await keepDisk(host, sandbox, async () => undefined)) === 'unknown')
    throw new ApiError('conflict', { detail: 'the disk of the sandbox is not known' })
  sandbox.lost = null
}
