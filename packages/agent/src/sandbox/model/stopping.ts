import { ApiError } from '@offshoot/contract/errors'
import type { Vm } from '../../machine/vm/vm.ts'
import type { Sandbox } from './sandbox.ts'

/** Runs a pause or hibernation. Requests to the guest wait until it is over (`guest-access.ts`). */
export async function whileStopping<T>(sandbox: Sandbox, stop: () => Promise<T>): Promise<T> {
  const over = Promise.withResolvers<void>()
  sandbox.stopping = over.promise
  try {
    return await stop()
  } finally {
    sandbox.stopping = undefined
    over.resolve()
  }
}

/**
 * The VM of a sandbox that is in one of these states.
 * @throws ApiError 409 if it is paused or hibernated instead, 404 if its VM has ended
 */
export function requireVm({ manifest: { status }, vm }: Sandbox, ...states: ('running' | 'paused')[]): Vm {
  const isHere = states.some((state) => state === status)
  if (!isHere && (status === 'paused' || status === 'hibernated')) throw new ApiError('sandboxStopped')
  if (!isHere || vm === null || vm.hasEnded) throw new ApiError('sandboxNotRunning')
  return vm
}
