import { Deadline } from '@offshoot/kit/deadline'
import { continueReleased, stopVm } from '../../machine/guest/hold.ts'
import { resumedDraft } from '../events/announce-state.ts'
import { commitBeside } from '../model/commit-change.ts'
import type { Host } from '../model/host.ts'
import { refusal } from '../model/refusal.ts'
import type { Sandbox } from '../model/sandbox.ts'
import { requireVm } from '../model/stopping.ts'

const CONTINUE_MS = 10_000

/** Continues a paused sandbox. No effect on a running one. @throws ApiError 404, 409 hibernated */
export async function resumeSandbox(host: Host, sandbox: Sandbox): Promise<void> {
  await sandbox.change(async (cancelled) => {
    if (sandbox.manifest.status === 'running') return
    host.store.credit.refuseIfSpent(sandbox.workspaceId)
    const vm = requireVm(sandbox, 'paused')
    const deadline = Deadline.after(CONTINUE_MS, `resume of ${sandbox.id}`, cancelled)
    try {
      const go = () => continueReleased(vm, deadline)
      await commitBeside(host, sandbox, { ...sandbox.manifest, status: 'running' }, resumedDraft, go)
      sandbox.activity.touch()
    } catch (error) {
      if (!vm.hasEnded) await stopVm(vm, Deadline.after(CONTINUE_MS, `resume of ${sandbox.id} rolled back`, cancelled))
      throw await refusal(host, sandbox, 'sandbox could not be resumed', error)
    }
  })
}
