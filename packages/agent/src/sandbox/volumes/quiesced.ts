import { ApiError } from '@offshoot/contract/errors'
import { Deadline } from '@offshoot/kit/deadline'
import { continueReleased, stopVm } from '../../machine/guest/hold.ts'
import type { Host } from '../model/host.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { syncVolumes } from './sandbox-volumes.ts'
import { whileStopping } from '../model/stopping.ts'

const STOP_MS = 10_000

/** Runs `work` while a sandbox, in any state, writes nothing. A running guest syncs its volumes first. @throws ApiError 404 */
export async function quiesced<T>(host: Host, sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
  return sandbox.change(async (cancelled) => {
    const { vm } = sandbox
    if (sandbox.manifest.status !== 'running') return work()
    if (vm === null || vm.hasEnded) throw new ApiError('sandboxNotRunning')
    await syncVolumes(host, sandbox, vm)
    return whileStopping(sandbox, async () => {
      await stopVm(vm, Deadline.after(STOP_MS, `stop of ${sandbox.id}`, cancelled))
      try {
        return await work()
      } finally {
        if (!vm.hasEnded)
          await continueReleased(vm, Deadline.after(STOP_MS, `continuation of ${sandbox.id}`, cancelled))
      }
    })
  })
}
