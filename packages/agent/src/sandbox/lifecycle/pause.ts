import { Deadline } from '@offshoot/kit/deadline'
import { continueReleased, stopVm } from '../../machine/guest/hold.ts'
import type { Vm } from '../../machine/vm/vm.ts'
import { pausedDraft } from '../events/announce-state.ts'
import { commitBeside } from '../model/commit-change.ts'
import type { Host } from '../model/host.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { syncVolumes } from '../volumes/sandbox-volumes.ts'
import { requireVm, whileStopping } from '../model/stopping.ts'

const STOP_MS = 5000

/** Stops a sandbox's CPUs and keeps its memory. No effect on a paused sandbox. @throws ApiError 404, 409 hibernated */
export async function pauseSandbox(host: Host, sandbox: Sandbox): Promise<void> {
  await sandbox.change(async (cancelled) => {
    if (sandbox.manifest.status === 'paused') return
    const vm = requireVm(sandbox, 'running')
    try {
      await whileStopping(sandbox, () => pause(host, sandbox, vm, cancelled))
    } catch (error) {
      throw await refusal(host, sandbox, 'sandbox could not be paused', error)
    }
  })
}

async function pause(host: Host, sandbox: Sandbox, vm: Vm, cancelled: AbortSignal): Promise<void> {
  await syncVolumes(host, sandbox, vm)
  const stop = () => stopVm(vm, Deadline.after(STOP_MS, `pause of ${sandbox.id}`, cancelled))
  try {
    await commitBeside(host, sandbox, { ...sandbox.manifest, status: 'paused' }, pausedDraft, stop)
  } catch (error) {
    if (!vm.hasEnded)
      await continueReleased(vm, Deadline.after(STOP_MS, `pause of ${sandbox.id} rolled back`, cancelled))
    throw error
  }
}
